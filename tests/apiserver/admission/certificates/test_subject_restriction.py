import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.certificates.subject_restriction import check
from plimsoll.apiserver.model.status import ApiError
from tests.apiserver.admission.requests import a_request, an_object

SIGNER = "kubernetes.io/kube-apiserver-client"


def a_signing_request(group: str, signer: str = SIGNER) -> Document:
    subject = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)])
    key = ec.generate_private_key(ec.SECP256R1())
    signed = (
        x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    )
    pem = signed.public_bytes(serialization.Encoding.PEM)
    spec = {"signerName": signer, "request": base64.b64encode(pem).decode()}
    return an_object("CertificateSigningRequest", spec=spec)


def test_no_request_asks_to_be_an_administrator() -> None:
    with pytest.raises(ApiError, match="signer with system:masters group is not allowed"):
        check(a_request(a_signing_request("system:masters")))


def test_other_groups_and_other_signers_may_be_asked_for() -> None:
    check(a_request(a_signing_request("developers")))
    check(a_request(a_signing_request("system:masters", "example.com/mine")))


def test_what_is_no_request_is_refused() -> None:
    request = a_signing_request("developers")
    request["spec"]["request"] = "AAAA"
    with pytest.raises(ApiError, match="failed to parse CSR"):
        check(a_request(request))
