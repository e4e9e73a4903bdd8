"""A CertificateSigningRequest that no signer could make anything of is not stored."""

import base64

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.access.certificate_request import request_errors
from tests.apiserver.model.kinds.access.certificates import encoded_request

SIGNED_WITH_SHA_1 = b"""\
-----BEGIN CERTIFICATE REQUEST-----
MIHFMG4CAQAwDDEKMAgGA1UECgwBZDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IA
BP2r1ao2Lez5XUdTbxSjdsxSdqPNTS5xj9ygPCkWlYDKTWuPzOTs+Glsppdk0wdR
GkAb9GY8gBgEdWg7Jd6zc5OgADAJBgcqhkjOPQQBA0gAMEUCIQDl6VtRY+oR77QC
QcTZKZyNO6ZAixFPR9dMQvWviKIbegIgHsrMQ9E1fqb4Ce8tFbzpBazUYIg35vEx
hcSOUm3Viec=
-----END CERTIFICATE REQUEST-----
"""
"""By a key on an elliptic curve."""


def complaints(**spec: object) -> list[str]:
    whole = {"request": encoded_request(), "signerName": "a.b/c", "usages": ["client auth"]} | spec
    return [f"{error.field}: {error.message}" for error in request_errors({"spec": whole})]


def encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()


def with_another_signature(request: bytes) -> str:
    pem = request.splitlines()
    der = bytearray(base64.b64decode(b"".join(pem[1:-1])))
    der[-1] ^= 1
    return encoded(b"\n".join([pem[0], base64.encodebytes(der).strip(), pem[-1]]))


def test_a_request_that_says_all_is_stored() -> None:
    assert complaints() == []
    assert complaints(usages=["any", "s/mime"], expirationSeconds=600) == []
    assert complaints(signerName="kubernetes.io/kubelet-serving") == []


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"request": ""}, "PEM block type must be CERTIFICATE REQUEST"),
        ({"request": encoded(b"-----BEGIN CERTIFICATE-----")}, "PEM block type must be"),
        ({"request": encoded(b"-----BEGIN CERTIFICATE REQUEST-----\n")}, "cannot be read"),
        ({"request": "!"}, "spec.request: Invalid value"),
        ({"usages": []}, "spec.usages: Required value"),
        ({"usages": ["hacking"]}, "spec.usages[0]: Unsupported value"),
        ({"usages": ["any", "any"]}, "spec.usages[1]: Duplicate value"),
        ({"signerName": ""}, "spec.signerName: Required value"),
        ({"signerName": "kubernetes.io/legacy-unknown"}, "the legacy signerName is not allowed"),
        ({"signerName": "a.b"}, "must be a fully qualified domain and path"),
        ({"signerName": "a.b/c/d"}, "must be a fully qualified domain and path"),
        ({"signerName": "a/c"}, "at least two segments separated by dots"),
        ({"signerName": "A.b/c"}, 'validating label "A"'),
        ({"signerName": "a.b/c_"}, 'validating label "c_"'),
        ({"signerName": f"{'a.' * 127}b/c"}, "spec.signerName: Too long"),
        ({"expirationSeconds": 599}, "less than 600 seconds"),
    ],
)
def test_what_is_missing_or_wrong_is_told(spec: Document, said: str) -> None:
    [told] = complaints(**spec)
    assert said in told


def test_a_signature_of_sha_1_will_do_as_in_kubernetes() -> None:
    assert complaints(request=encoded(SIGNED_WITH_SHA_1)) == []


@pytest.mark.parametrize("request_", [base64.b64decode(encoded_request()), SIGNED_WITH_SHA_1])
def test_who_has_not_the_key_cannot_ask_for_its_certificate(request_: bytes) -> None:
    [told] = complaints(request=with_another_signature(request_))
    assert "the signature does not match" in told
