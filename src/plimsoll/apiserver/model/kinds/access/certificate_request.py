"""What the specification of a CertificateSigningRequest has to say when it is created.

It never changes afterwards: nothing of this is looked at again.
"""

import base64
import binascii
from collections.abc import Callable, Iterator

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from plimsoll.api.names import dns_label_errors, dns_subdomain_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError

USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
SHORTEST_SECONDS = 600
LONGEST_DOMAIN = 253
LONGEST_NAME = LONGEST_DOMAIN + 1 + LONGEST_DOMAIN + 1 + 63
PARTS_OF_A_SIGNER = 2
MARK = b"-----BEGIN CERTIFICATE REQUEST-----"


def request_errors(document: Document) -> Iterator[FieldError]:
    spec = document.get("spec") or {}
    why = _find_flaw(spec.get("request") or "")
    if why:
        yield FieldError.invalid("spec.request", spec.get("request", ""), why)
    yield from _usage_errors(spec.get("usages") or [])
    yield from _signer_errors(spec.get("signerName") or "")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < SHORTEST_SECONDS:
        said = "may not specify a duration less than 600 seconds (10 minutes)"
        yield FieldError.invalid("spec.expirationSeconds", seconds, said)


def _find_flaw(encoded: str) -> str:
    """What is wrong with the request itself, which is PEM in base64; empty: nothing."""
    try:
        pem = base64.b64decode(encoded)
        if MARK not in pem:
            return "PEM block type must be CERTIFICATE REQUEST"
        is_signed = _is_signed(x509.load_pem_x509_csr(pem))
    except (ValueError, binascii.Error, UnsupportedAlgorithm) as error:
        return f"the request cannot be read: {error}"
    return "" if is_signed else "the signature does not match"


def _is_signed(request: x509.CertificateSigningRequest) -> bool:
    """By its own key. SHA-1 will do for that, here as in Kubernetes, though for nothing else."""
    if not isinstance(request.signature_hash_algorithm, hashes.SHA1):
        return request.is_signature_valid
    key, signature, signed = (
        request.public_key(),
        request.signature,
        request.tbs_certrequest_bytes,
    )
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, signed, padding.PKCS1v15(), hashes.SHA1())  # noqa: S303
            return True
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, signed, ec.ECDSA(hashes.SHA1()))  # noqa: S303
            return True
    except InvalidSignature:
        pass
    return False


def _usage_errors(usages: list[str]) -> Iterator[FieldError]:
    path = "spec.usages"
    if not usages:
        yield FieldError.required(path)
    for index, usage in enumerate(usages):
        if usage not in USAGES:
            yield FieldError.not_supported(f"{path}[{index}]", usage, USAGES)
    seen: set[str] = set()
    for index, usage in enumerate(usages):
        if usage in seen:
            yield FieldError.duplicate(f"{path}[{index}]", usage)
        seen.add(usage)


def _signer_errors(name: str) -> Iterator[FieldError]:
    path = "spec.signerName"
    if not name:
        yield FieldError.required(path)
        return
    if name == LEGACY_SIGNER:
        said = "the legacy signerName is not allowed via this API version"
        yield FieldError.invalid(path, name, said)
        return
    segments = name.split("/")
    if len(segments) != PARTS_OF_A_SIGNER:
        said = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield FieldError.invalid(path, name, said)
        return
    domain, rest = segments
    if len(domain) > LONGEST_DOMAIN:
        yield FieldError.too_long(path, LONGEST_DOMAIN)
    yield from _first_flaw(path, domain, dns_label_errors)
    if "." not in domain:
        said = "should be a domain with at least two segments separated by dots"
        yield FieldError.invalid(path, domain, said)
    yield from _first_flaw(path, rest, dns_subdomain_errors)
    if len(name) > LONGEST_NAME:
        yield FieldError.too_long(path, LONGEST_NAME)


def _first_flaw(path: str, segment: str, check: Callable[[str], list[str]]) -> Iterator[FieldError]:
    """Of the first part between dots that is wrong."""
    for part in segment.split("."):
        errors = check(part)
        if errors:
            for error in errors:
                yield FieldError.invalid(path, segment, f'validating label "{part}": {error}')
            return
