"""A certificate authority for one run on loopback, and what it signs.

The real API server is spoken to over TLS as in a cluster, so that our client's certificate checks
are part of what is compared.
"""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

LIFETIME = dt.timedelta(days=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """Files of one run; all keys are mode 0600."""

    authority: Path
    server: Path
    server_key: Path
    service_account_key: Path


def write_certificates(directory: Path) -> Certificates:
    files = Certificates(
        authority=directory / "ca.crt",
        server=directory / "server.crt",
        server_key=directory / "server.key",
        service_account_key=directory / "service-account.key",
    )
    authority_key = ec.generate_private_key(ec.SECP256R1())
    server_key = ec.generate_private_key(ec.SECP256R1())
    authority_name = _name("conformance authority")
    authority = (
        _unsigned(authority_name, authority_name, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    server = (
        _unsigned(_name("kube-apiserver"), authority_name, server_key.public_key())
        .add_extension(x509.SubjectAlternativeName(_loopback_names()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    files.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    files.server.write_bytes(server.public_bytes(serialization.Encoding.PEM))
    _write_key(files.server_key, server_key)
    # Tokens of service accounts are signed with RSA, the algorithm every verifier knows.
    _write_key(
        files.service_account_key, rsa.generate_private_key(public_exponent=65537, key_size=2048)
    )
    return files


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _loopback_names() -> list[x509.GeneralName]:
    return [
        x509.DNSName("localhost"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    ]


def _unsigned(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + LIFETIME)
    )


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
