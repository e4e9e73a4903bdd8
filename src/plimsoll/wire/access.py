"""Everything that is needed to reach one API server over HTTP."""

import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from plimsoll.wire.credentials import ClientCertificate, Credentials


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    source: str
    """Where this was found, for messages: `kubeconfig /home/me/.kube/config, context prod`."""
    server: str
    """The URL, without a slash at its end."""
    credentials: Credentials
    authority: bytes | None = None
    """PEM of the certificate authorities to trust; None trusts those of the system."""
    verifies_server: bool = True
    server_name: str = ""
    """The name that the server's certificate must carry, where it is not that of the URL."""
    proxy: str = ""
    namespace: str = "default"
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with every request, such as those that impersonate."""


def tls_context(access: Access, certificate: ClientCertificate | None) -> ssl.SSLContext:
    """Raises ValueError when a certificate or key cannot be used."""
    authority = access.authority.decode() if access.authority else None
    try:
        context = ssl.create_default_context(cadata=authority)
        # Newer Pythons refuse certificates that Go programs accept, such as old cluster CAs.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not access.verifies_server:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["http/1.1"])
        if certificate is not None:
            _present(context, certificate)
    except (ssl.SSLError, OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{access.source}: a certificate or key cannot be used: {error}"
        ) from error
    return context


def _present(context: ssl.SSLContext, certificate: ClientCertificate) -> None:
    """OpenSSL reads key pairs from files only: these live as long as the call."""
    with TemporaryDirectory(prefix="plimsoll-") as directory:
        chain, key = Path(directory, "certificate.pem"), Path(directory, "key.pem")
        for path, content in ((chain, certificate.certificate), (key, certificate.key)):
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as f:
                f.write(content)
        context.load_cert_chain(chain, key)
