"""Builds the real programs that Plimsoll is compared with, once, outside the source tree.

Each peer is a Go module of its own under `conformance/peers/`, because their dependency versions
differ. The go.mod pins the version and go.sum the content of everything that is built. A binary
is kept under a digest of its go.mod: a changed pin builds anew, an unchanged one never does.

Some peers are in no module that can be pinned. They are looked for, and where there are none,
what needs them is skipped with the reason.
"""

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

MODULES = Path(__file__).parent / "peers"
KUBERNETES_VERSION = "v1.36.3"
HELM_VERSION = "v3.22.0"


class PeersUnavailableError(RuntimeError):
    """There is no Go on this machine, so that nothing can be built or compared."""


class NotFoundError(RuntimeError):
    """A peer that cannot be built is not on this machine; the message says where it may be put."""


class BuildFailedError(RuntimeError):
    """The Go toolchain refused; the message carries what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    name: str
    package: str
    linker_flags: str = "-s -w"
    pinned_with: str = ""
    """The peer whose module also holds this one."""

    @property
    def module(self) -> Path:
        return MODULES / (self.pinned_with or self.name)

    @property
    def binary(self) -> Path:
        digest = hashlib.sha256((self.module / "go.mod").read_bytes()).hexdigest()[:12]
        return cache() / f"{self.name}-{digest}" / self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignPeer:
    """Made by others, of whatever version the machine has: the module proxy does not serve it."""

    name: str
    variable: str


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

HELM = Peer(
    name="helm",
    package="helm.sh/helm/v3/cmd/helm",
    # As its own releases say it; from a build without it, `helm version` is v3.
    linker_flags=f"-s -w -X helm.sh/helm/v3/internal/version.version={HELM_VERSION}",
)

CSI = "github.com/kubernetes-csi"
CSI_SANITY = Peer(name="csi-sanity", package=f"{CSI}/csi-test/v5/cmd/csi-sanity")
CSI_PROVISIONER = Peer(
    name="csi-provisioner",
    package=f"{CSI}/external-provisioner/v5/cmd/csi-provisioner",
)
CSI_RESIZER = Peer(name="csi-resizer", package=f"{CSI}/external-resizer/cmd/csi-resizer")
CSI_SNAPSHOTTER = Peer(
    name="csi-snapshotter",
    package=f"{CSI}/external-snapshotter/v8/cmd/csi-snapshotter",
)
SNAPSHOT_CONTROLLER = Peer(
    name="snapshot-controller",
    package=f"{CSI}/external-snapshotter/v8/cmd/snapshot-controller",
    pinned_with=CSI_SNAPSHOTTER.name,
)
SNAPSHOT_KINDS = f"{CSI}/external-snapshotter/client/v8"
"""The module, pinned with the snapshotter, that holds the definitions of its kinds."""

HOSTPATHPLUGIN = ForeignPeer(name="hostpathplugin", variable="PLIMSOLL_PEER_HOSTPATHPLUGIN")
NODE_DRIVER_REGISTRAR = ForeignPeer(
    name="node-driver-registrar",
    variable="PLIMSOLL_PEER_NODE_DRIVER_REGISTRAR",
)

ALL = (
    ETCD,
    KUBE_APISERVER,
    KUBECTL,
    KUBE_CONTROLLER_MANAGER,
    KUBE_SCHEDULER,
    HELM,
    CSI_SANITY,
    CSI_PROVISIONER,
    CSI_RESIZER,
    CSI_SNAPSHOTTER,
    SNAPSHOT_CONTROLLER,
)


def cache() -> Path:
    """Where built peers are kept: $PLIMSOLL_PEERS, or a directory in the user's cache."""
    return Path(os.environ.get("PLIMSOLL_PEERS") or Path.home() / ".cache" / "plimsoll" / "peers")


def build(peer: Peer) -> Path:
    """The peer's binary, built now if this pin was never built before."""
    if peer.binary.exists():
        return peer.binary
    go = _go(peer)
    print(f"  building {peer.name} (minutes the first time)", flush=True)
    _compile(peer, go)
    return peer.binary


def find(peer: ForeignPeer) -> Path:
    """The binary that the environment names, that is on the path, or beside the built ones."""
    places = (os.environ.get(peer.variable), shutil.which(peer.name), str(cache() / peer.name))
    for place in places:
        if place and os.access(place, os.X_OK):
            return Path(place)
    raise NotFoundError(
        f"{peer.name} cannot be fetched from the module proxy, so that it is not built here; "
        f"put it on the PATH, into {cache()}, or name it in ${peer.variable}"
    )


def directory_of(module: str, pinned_with: Peer) -> Path:
    """Where Go unpacked a module that a peer is made of."""
    command = [_go(pinned_with), "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", module]
    try:
        listed = subprocess.run(
            command, cwd=pinned_with.module, env=_environment(), capture_output=True, check=True
        )
    except subprocess.CalledProcessError as error:
        raise BuildFailedError(f"{module}: {error.stderr.decode(errors='replace')}") from error
    return Path(listed.stdout.decode().strip())


def _go(peer: Peer) -> str:
    go = shutil.which("go")
    if go is None:
        raise PeersUnavailableError(f"{peer.name} is not built and there is no Go to build it with")
    return go


def _environment() -> dict[str, str]:
    return {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": ""}


def _compile(peer: Peer, go: str) -> None:
    peer.binary.parent.mkdir(parents=True, exist_ok=True)
    # Built beside its place and moved there: an interrupted build is never taken for a binary, and
    # two runs that build at the same time do not take each other's away.
    unfinished = peer.binary.with_suffix(f".unfinished-{os.getpid()}")
    log = peer.binary.with_suffix(".log")
    command = [go, "build", "-mod=readonly", "-ldflags", peer.linker_flags]
    command += ["-o", str(unfinished), peer.package]
    with log.open("wb") as output:
        outcome = subprocess.run(
            command,
            cwd=peer.module,
            env=_environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if outcome.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        raise BuildFailedError(f"{peer.name}: go build failed, the whole log is {log}\n{tail}")
    unfinished.replace(peer.binary)
