"""A real etcd and a real kube-apiserver on loopback, for as long as a `with` block runs.

etcd syncs to disk as in production (that is what our own server is measured against). The
admission plugins that need other programs are off: TaintNodesByCondition, whose taint only the
node life cycle controller removes, and ServiceAccount, which waits for accounts that no
controller makes.
"""

import base64
import contextlib
import http.client
import secrets
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from conformance import peers
from conformance.certificates import Certificates, write_certificates
from conformance.programs import running
from tests.servers import Endpoint, free_port, is_ready

# Cold caches and two busy cores: calm machines need four seconds.
READY_SECONDS = 120


class NotReadyError(RuntimeError):
    """A program did not come up; the message carries its last words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    endpoint: Endpoint
    pids: dict[str, int]
    """Process ids by program, to measure their memory."""
    ready_after: float
    """Seconds from starting etcd to a ready API server."""


@contextlib.contextmanager
def control_plane(directory: Path, *flags: str) -> Iterator[ControlPlane]:
    """Starts both programs in `directory`; extra flags go to kube-apiserver."""
    began = time.monotonic()
    certificates = write_certificates(directory)
    endpoint = _endpoint(directory, certificates)
    with contextlib.ExitStack() as stack:
        store_port = free_port()
        store = stack.enter_context(running(_etcd(directory, store_port), directory / "etcd.log"))
        server = stack.enter_context(
            running(
                [*_kube_apiserver(endpoint, certificates, store_port), *flags],
                directory / "kube-apiserver.log",
            )
        )
        _wait(endpoint, server, directory / "kube-apiserver.log")
        pids = {"etcd": store.pid, "kube-apiserver": server.pid}
        yield ControlPlane(endpoint=endpoint, pids=pids, ready_after=time.monotonic() - began)


def _endpoint(directory: Path, certificates: Certificates) -> Endpoint:
    endpoint = Endpoint(
        url=f"https://127.0.0.1:{free_port()}",
        token=secrets.token_urlsafe(24),
        authority=certificates.authority,
        kubeconfig=directory / "kubeconfig",
    )
    tokens = directory / "tokens.csv"
    tokens.touch(mode=0o600)
    tokens.write_text(f'{endpoint.token},admin,admin,"system:masters"\n')
    endpoint.kubeconfig.touch(mode=0o600)
    endpoint.kubeconfig.write_text(yaml.safe_dump(_kubeconfig(endpoint)))
    return endpoint


def _kubeconfig(endpoint: Endpoint) -> dict[str, object]:
    authority = base64.b64encode(endpoint.authority.read_bytes()).decode()
    cluster = {"server": endpoint.url, "certificate-authority-data": authority}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "peer",
        "clusters": [{"name": "peer", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": endpoint.token}}],
        "contexts": [{"name": "peer", "context": {"cluster": "peer", "user": "admin"}}],
    }


def _etcd(directory: Path, port: int) -> list[str]:
    client = f"http://127.0.0.1:{port}"
    peer = f"http://127.0.0.1:{free_port()}"
    return [
        str(peers.build(peers.ETCD)),
        f"--data-dir={directory / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        f"--quota-backend-bytes={8 << 30}",
        "--log-level=warn",
    ]


def _kube_apiserver(endpoint: Endpoint, certificates: Certificates, store_port: int) -> list[str]:
    signing_key = certificates.service_account_key
    return [
        str(peers.build(peers.KUBE_APISERVER)),
        f"--etcd-servers=http://127.0.0.1:{store_port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={endpoint.port}",
        "--endpoint-reconciler-type=none",
        f"--tls-cert-file={certificates.server}",
        f"--tls-private-key-file={certificates.server_key}",
        f"--client-ca-file={certificates.authority}",
        f"--token-auth-file={endpoint.kubeconfig.with_name('tokens.csv')}",
        "--authorization-mode=RBAC",
        f"--service-account-key-file={signing_key}",
        f"--service-account-signing-key-file={signing_key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--disable-admission-plugins=TaintNodesByCondition,ServiceAccount",
        # On by default in the recorded server, which is one minor release ahead of this peer.
        "--feature-gates=MaxUnavailableStatefulSet=true,VolumeLimitScaling=true",
        # The recorded server, and a fair race, have no queue in front of the requests.
        "--enable-priority-and-fairness=false",
        "--max-requests-inflight=2000",
        "--max-mutating-requests-inflight=1000",
    ]


def _wait(endpoint: Endpoint, server: subprocess.Popen[bytes], log: Path) -> None:
    began = time.monotonic()
    # The default namespace is made by a hook after the server calls itself ready.
    while not (is_ready(endpoint.port) and _has_default_namespace(endpoint)):
        if server.poll() is not None or time.monotonic() - began > READY_SECONDS:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            raise NotReadyError(f"kube-apiserver, exit code {server.poll()}: {tail}")
        time.sleep(0.05)


def _has_default_namespace(endpoint: Endpoint) -> bool:
    return endpoint.request("GET", "/api/v1/namespaces/default")[0] == http.client.OK
