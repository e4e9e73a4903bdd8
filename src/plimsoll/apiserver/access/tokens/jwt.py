"""JSON web tokens with ES256, and nothing else: signed and verified with keys of this server."""

import base64
import binascii
import hashlib
from dataclasses import dataclass
from functools import cached_property

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from plimsoll.api.registry import Document

ALGORITHM = "ES256"
NUMBER_BYTES = 32
SHA256 = ec.ECDSA(hashes.SHA256())


class InvalidTokenError(Exception):
    """The token is none of ours, or not valid any more; the message tells neither key nor token."""


@dataclass(frozen=True, eq=False)
class TokenKey:
    private: ec.EllipticCurvePrivateKey

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TokenKey) and other.identifier == self.identifier

    def __hash__(self) -> int:
        return hash(self.identifier)

    def __repr__(self) -> str:
        return f"TokenKey({self.identifier})"

    @cached_property
    def identifier(self) -> str:
        """Derived from the public key, as kube-apiserver derives it."""
        encoded = self.private.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return _text(hashlib.sha256(encoded).digest())

    @cached_property
    def public_document(self) -> Document:
        """As a key set shows it."""
        numbers = self.private.public_key().public_numbers()
        return {
            "use": "sig",
            "kty": "EC",
            "kid": self.identifier,
            "crv": "P-256",
            "alg": ALGORITHM,
            "x": _text(numbers.x.to_bytes(NUMBER_BYTES, "big")),
            "y": _text(numbers.y.to_bytes(NUMBER_BYTES, "big")),
        }


def new_key() -> TokenKey:
    return TokenKey(ec.generate_private_key(ec.SECP256R1()))


def sign(claims: Document, key: TokenKey) -> str:
    head = msgspec.json.encode({"alg": ALGORITHM, "kid": key.identifier})
    signed = f"{_text(head)}.{_text(msgspec.json.encode(claims))}"
    r, s = decode_dss_signature(key.private.sign(signed.encode(), SHA256))
    signature = r.to_bytes(NUMBER_BYTES, "big") + s.to_bytes(NUMBER_BYTES, "big")
    return f"{signed}.{_text(signature)}"


def verified_claims(token: str, key: TokenKey) -> Document:
    """Raises InvalidTokenError for what the key has not signed."""
    signed, dot, signature_text = token.rpartition(".")
    head_text, _, claims_text = signed.partition(".")
    if not dot or "." in claims_text:
        raise InvalidTokenError("the token is not a signed web token")
    head = _decoded(head_text)
    if head.get("alg") != ALGORITHM or head.get("kid", key.identifier) != key.identifier:
        raise InvalidTokenError("the token was signed with another key")
    _verify(signed, _bytes(signature_text), key)
    return _decoded(claims_text)


def _verify(signed: str, signature: bytes, key: TokenKey) -> None:
    if len(signature) != 2 * NUMBER_BYTES:
        raise InvalidTokenError("the signature of the token is of the wrong length")
    r, s = signature[:NUMBER_BYTES], signature[NUMBER_BYTES:]
    encoded = encode_dss_signature(int.from_bytes(r, "big"), int.from_bytes(s, "big"))
    try:
        key.private.public_key().verify(encoded, signed.encode(), SHA256)
    except InvalidSignature as error:
        raise InvalidTokenError("the signature of the token is wrong") from error


def _decoded(text: str) -> Document:
    try:
        document = msgspec.json.decode(_bytes(text))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidTokenError("the token is not a signed web token") from error
    if not isinstance(document, dict):
        raise InvalidTokenError("the token is not a signed web token")
    return document


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    try:
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True)
    except (ValueError, binascii.Error) as error:
        raise InvalidTokenError("the token is not a signed web token") from error
