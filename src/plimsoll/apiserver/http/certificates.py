"""The server's own certificate authority, and what it signs: the server, the administrator, and
clients with rights of their own.

Made once for a data directory and kept there, readable for its owner only. What the authority signs
is made anew when it is about to end, or was damaged: clients need not know. The authority itself is
what clients trust: it is only made anew when it is about to end.
"""

import os
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from plimsoll.apiserver.access.tokens.jwt import TokenKey, new_key

AUTHORITY_LIFE = timedelta(days=3650)
LEAF_LIFE = timedelta(days=365)
RENEW_BEFORE = timedelta(days=30)
BACKDATED = timedelta(days=7)
"""Clocks of clients may be behind, and the server's own may be set back."""
AUTHORITY_BACKDATED = timedelta(days=365)
"""What it signs can be signed again when the clock is set back; the authority cannot."""

LOOPBACK_NAMES = ("localhost", "kubernetes", "kubernetes.default.svc")
LOOPBACK_ADDRESSES = ("127.0.0.1", "::1")


class UnreadableKeysError(Exception):
    """The authority's files are damaged; the message says what to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCredentials:
    """Files below the data directory, and the administrator's token."""

    authority: Path
    server_certificate: Path
    server_key: Path
    admin_certificate: Path
    admin_key: Path
    admin_token: str
    token_key: TokenKey
    """What signs the tokens of service accounts."""

    def __repr__(self) -> str:
        return f"Credentials({self.authority.parent})"


def private_write(path: Path, content: bytes) -> None:
    """No other user may ever read it, not even for a moment; a crash leaves the old file.

    A file that holds the content already is left as it is: that needs no space on the disk.
    """
    if path.is_file() and path.read_bytes() == content:
        path.chmod(0o600)
        return
    draft = path.with_suffix(path.suffix + ".new")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600, exist_ok=False)
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def load_or_create(directory: Path, now: datetime) -> ServerCredentials:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    authority, authority_key = _authority(directory, now)
    signer, valid = (authority, authority_key), (now - BACKDATED, now + LEAF_LIFE)
    _leaf(directory / "server", signer, valid, _server_extensions())
    _leaf(directory / "admin", signer, valid, _client_subject("admin", ("system:masters",)))
    return ServerCredentials(
        authority=directory / "ca.crt",
        server_certificate=directory / "server.crt",
        server_key=directory / "server.key",
        admin_certificate=directory / "admin.crt",
        admin_key=directory / "admin.key",
        admin_token=_token(directory / "admin.token"),
        token_key=_token_key(directory),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCredential:
    """In PEM: whom the server takes for the user that the certificate names."""

    authority: bytes
    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        return "ClientCredential()"


def client_credential(
    directory: Path, file_name: str, user: tuple[str, tuple[str, ...]], now: datetime
) -> ClientCredential:
    """For a user and its groups, signed by the authority of a server that has begun before.

    It lasts as long as the authority: clients read it once, and may run for years. What is there
    already is taken, if it will do. Raises UnreadableKeysError and OSError.
    """
    signer = _read_authority(directory / "ca.crt", directory / "ca.key")
    clients = directory / "clients"
    clients.mkdir(mode=0o700, exist_ok=True)
    valid = (now - BACKDATED, signer[0].not_valid_after_utc)
    certificate, key = _leaf(clients / file_name, signer, valid, _client_subject(*user))
    return ClientCredential(
        authority=(directory / "ca.crt").read_bytes(),
        certificate=certificate.read_bytes(),
        key=key.read_bytes(),
    )


def _token_key(directory: Path) -> TokenKey:
    """Kept under kubeadm's names: other programs may need the key, or its public half."""
    key, public = directory / "sa.key", directory / "sa.pub"
    if key.exists():
        held = _read_token_key(key)
    else:
        held = new_key()
        private_write(key, _key_bytes(held.private))
    private_write(
        public,
        held.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        ),
    )
    return held


def _read_token_key(path: Path) -> TokenKey:
    try:
        held = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        held = None
    if not isinstance(held, ec.EllipticCurvePrivateKey) or held.curve.name != "secp256r1":
        raise UnreadableKeysError(
            f"{path} is damaged or not a key of the curve P-256; put it back, or remove it for a "
            "new one, with which all tokens of service accounts end"
        )
    return TokenKey(held)


def _token(path: Path) -> str:
    held = path.read_bytes().strip() if path.exists() else b""
    # Anything else could not be sent in a header.
    if not (held and held.isascii() and held.decode("ascii").isprintable()):
        held = secrets.token_urlsafe(32).encode()
        private_write(path, held)
    return held.decode("ascii")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    common_name: str
    organizations: tuple[str, ...] = ()
    extensions: tuple[x509.ExtensionType, ...] = ()

    @property
    def name(self) -> x509.Name:
        named = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in self.organizations]
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self.common_name), *named])


def _server_extensions() -> _Subject:
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in LOOPBACK_NAMES]
    names += [x509.IPAddress(ip_address(address)) for address in LOOPBACK_ADDRESSES]
    return _Subject(
        common_name="plimsoll-apiserver",
        extensions=(
            x509.SubjectAlternativeName(names),
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]),
        ),
    )


def _client_subject(user: str, groups: tuple[str, ...]) -> _Subject:
    return _Subject(
        common_name=user,
        organizations=groups,
        extensions=(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]),),
    )


Signer = tuple[x509.Certificate, ec.EllipticCurvePrivateKey]


def _authority(directory: Path, now: datetime) -> Signer:
    certificate, key = directory / "ca.crt", directory / "ca.key"
    if certificate.exists() and key.exists():
        signer = _read_authority(certificate, key)
        if signer[0].not_valid_after_utc - RENEW_BEFORE > now:
            return signer
    made = ec.generate_private_key(ec.SECP256R1())
    subject = _Subject(common_name="plimsoll-ca")
    signed = (
        _builder(subject, made, (now - AUTHORITY_BACKDATED, now + AUTHORITY_LIFE))
        .issuer_name(subject.name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(made, hashes.SHA256())
    )
    # A crash between the two must not leave a key and a certificate that do not belong together.
    certificate.unlink(missing_ok=True)
    private_write(key, _key_bytes(made))
    private_write(certificate, signed.public_bytes(serialization.Encoding.PEM))
    return signed, made


def _read_authority(certificate: Path, key: Path) -> Signer:
    pair = _pair(certificate, key)
    if pair is None:
        raise UnreadableKeysError(
            f"{certificate} and {key.name} are damaged or do not belong together; put back both, "
            f"or remove both for a new authority, which all clients need a new kubeconfig for"
        )
    return pair


def _pair(certificate: Path, key: Path) -> Signer | None:
    """A certificate and the key that it is about; None when they are anything else."""
    try:
        signed = x509.load_pem_x509_certificate(certificate.read_bytes())
        held = serialization.load_pem_private_key(key.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    if not isinstance(held, ec.EllipticCurvePrivateKey):
        return None
    return (signed, held) if signed.public_key() == held.public_key() else None


def _leaf(
    base: Path, signer: Signer, valid: tuple[datetime, datetime], subject: _Subject
) -> tuple[Path, Path]:
    """The files of the certificate and its key; made if those that are there will not do."""
    certificate, key = base.with_suffix(".crt"), base.with_suffix(".key")
    if certificate.exists() and key.exists():
        pair = _pair(certificate, key)
        now = valid[0] + BACKDATED
        if pair and pair[0].subject == subject.name and _is_current(pair[0], signer[0], now):
            return certificate, key
    made = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(subject, made, valid).issuer_name(signer[0].subject)
    for extension in subject.extensions:
        builder = builder.add_extension(extension, critical=False)
    signed = builder.sign(signer[1], hashes.SHA256())
    private_write(key, _key_bytes(made))
    private_write(certificate, signed.public_bytes(serialization.Encoding.PEM))
    return certificate, key


def _is_current(held: x509.Certificate, authority: x509.Certificate, now: datetime) -> bool:
    return _is_valid(held, now) and _is_signed_by(held, authority)


def _is_valid(held: x509.Certificate, now: datetime) -> bool:
    """Now and for a while yet; not before its time either, if the clock was set far back."""
    return held.not_valid_before_utc <= now < held.not_valid_after_utc - RENEW_BEFORE


def _is_signed_by(held: x509.Certificate, authority: x509.Certificate) -> bool:
    """By this very authority: one that was made anew has the same name."""
    try:
        held.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _builder(
    subject: _Subject, key: ec.EllipticCurvePrivateKey, valid: tuple[datetime, datetime]
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject.name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(valid[0])
        .not_valid_after(valid[1])
    )


def _key_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
