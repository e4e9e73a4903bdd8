"""A CertificateSigningRequest that no signer could make anything of is not stored."""

import base64

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.access.certificate_request import request_errors
from tests.apiserver.model.kinds.access.certificates import encoded_request


def complaints(**spec: object) -> list[str]:
    whole = {"request": encoded_request(), "signerName": "a.b/c", "usages": ["client auth"]} | spec
    return [f"{error.field}: {error.message}" for error in request_errors({"spec": whole})]


def encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()


def with_another_signature() -> str:
    pem = base64.b64decode(encoded_request()).splitlines()
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


def test_who_has_not_the_key_cannot_ask_for_its_certificate() -> None:
    [told] = complaints(request=with_another_signature())
    assert told.startswith("spec.request: Invalid value")
