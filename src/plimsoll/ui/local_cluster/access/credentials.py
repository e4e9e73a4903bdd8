"""Writes the kubeconfig of each part: its own certificate, readable for the owner alone."""

import base64
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import yaml

from plimsoll.apiserver.http.certificates import (
    ClientCredential,
    client_credential,
    private_write,
)
from plimsoll.ui.local_cluster.access.identities import PartIdentity


def write_credentials(
    data_dir: Path, url: str, identities: Iterable[PartIdentity], now: datetime
) -> None:
    """The API server has begun before: its authority signs. Raises UnreadableKeysError, OSError."""
    for identity in identities:
        user = (identity.user, identity.groups)
        pki = data_dir / "apiserver" / "pki"
        credential = client_credential(pki, identity.file_name, user, now)
        path = identity.kubeconfig(data_dir)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        private_write(path, kubeconfig(url, identity.user, credential).encode())


def remove_credentials(data_dir: Path, identities: Iterable[PartIdentity]) -> None:
    """Of parts that the cluster has no more."""
    for identity in identities:
        identity.kubeconfig(data_dir).unlink(missing_ok=True)
        base = data_dir / "apiserver" / "pki" / "clients" / identity.file_name
        for suffix in (".crt", ".key"):
            base.with_suffix(suffix).unlink(missing_ok=True)


def kubeconfig(url: str, user: str, credential: ClientCredential) -> str:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "plimsoll",
        "clusters": [
            {
                "name": "plimsoll",
                "cluster": {
                    "server": url,
                    "certificate-authority-data": _encoded(credential.authority),
                },
            }
        ],
        "users": [
            {
                "name": user,
                "user": {
                    "client-certificate-data": _encoded(credential.certificate),
                    "client-key-data": _encoded(credential.key),
                },
            }
        ],
        "contexts": [{"name": "plimsoll", "context": {"cluster": "plimsoll", "user": user}}],
    }
    text: str = yaml.safe_dump(config, sort_keys=False)
    return text


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
