"""Builds the real programs that Plimsoll is compared with, once, outside the source tree.

Each peer is a Go module of its own under `conformance/peers/`, because their dependency versions
differ. The go.mod pins the version and go.sum the content of everything that is built. A binary
is kept under a digest of its go.mod: a changed pin builds anew, an unchanged one never does.
"""

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

MODULES = Path(__file__).parent / "peers"
KUBERNETES_VERSION = "v1.36.3"


class PeersUnavailableError(RuntimeError):
    """There is no Go on this machine, so that nothing can be built or compared."""


class BuildFailedError(RuntimeError):
    """The Go toolchain refused; the message carries what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    name: str
    package: str
    linker_flags: str = "-s -w"

    @property
    def module(self) -> Path:
        return MODULES / self.name

    @property
    def binary(self) -> Path:
        digest = hashlib.sha256((self.module / "go.mod").read_bytes()).hexdigest()[:12]
        return cache() / f"{self.name}-{digest}" / self.name


# Without a version that parses as one, kubectl refuses to talk about it.
STAMPED = f"-s -w -X k8s.io/component-base/version.gitVersion={KUBERNETES_VERSION}"

ETCD = Peer(name="etcd", package="go.etcd.io/etcd/server/v3")
KUBE_APISERVER = Peer(
    name="kube-apiserver",
    package="k8s.io/kubernetes/cmd/kube-apiserver",
    linker_flags=STAMPED,
)
KUBECTL = Peer(name="kubectl", package="k8s.io/kubernetes/cmd/kubectl", linker_flags=STAMPED)
KUBE_CONTROLLER_MANAGER = Peer(
    name="kube-controller-manager",
    package="k8s.io/kubernetes/cmd/kube-controller-manager",
    linker_flags=STAMPED,
)
KUBE_SCHEDULER = Peer(
    name="kube-scheduler",
    package="k8s.io/kubernetes/cmd/kube-scheduler",
    linker_flags=STAMPED,
)
ALL = (ETCD, KUBE_APISERVER, KUBECTL, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER)


def cache() -> Path:
    """Where built peers are kept: $PLIMSOLL_PEERS, or a directory in the user's cache."""
    return Path(os.environ.get("PLIMSOLL_PEERS") or Path.home() / ".cache" / "plimsoll" / "peers")


def build(peer: Peer) -> Path:
    """The peer's binary, built now if this pin was never built before."""
    if peer.binary.exists():
        return peer.binary
    go = shutil.which("go")
    if go is None:
        raise PeersUnavailableError(f"{peer.name} is not built and there is no Go to build it with")
    print(f"  building {peer.name} (minutes the first time)", flush=True)
    _compile(peer, go)
    return peer.binary


def _compile(peer: Peer, go: str) -> None:
    peer.binary.parent.mkdir(parents=True, exist_ok=True)
    # Built beside its place and moved there: an interrupted build is never taken for a binary.
    unfinished = peer.binary.with_suffix(".unfinished")
    log = peer.binary.with_suffix(".log")
    command = [go, "build", "-mod=readonly", "-ldflags", peer.linker_flags]
    command += ["-o", str(unfinished), peer.package]
    with log.open("wb") as output:
        outcome = subprocess.run(
            command,
            cwd=peer.module,
            env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": ""},
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if outcome.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        raise BuildFailedError(f"{peer.name}: go build failed, the whole log is {log}\n{tail}")
    unfinished.replace(peer.binary)
