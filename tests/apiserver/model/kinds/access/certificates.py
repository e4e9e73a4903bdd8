"""Requests for certificates, as programs of users make them."""

import base64
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@cache
def encoded_request(group: str = "developers") -> str:
    """In base64, as the field `request` has it."""
    subject = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)])
    key = ec.generate_private_key(ec.SECP256R1())
    signed = (
        x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    )
    return base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()
