"""Each part of a local cluster has a kubeconfig of its own, which no other user can read."""

import stat
from base64 import b64decode
from datetime import UTC, datetime
from pathlib import Path

import yaml
from cryptography import x509

from plimsoll.apiserver.http.certificates import load_or_create
from plimsoll.runtime.clock import SteppedClock
from plimsoll.ui.local_cluster.access.credentials import remove_credentials, write_credentials
from plimsoll.ui.local_cluster.layout import ClusterOptions
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment, find_access

NOW = datetime(2030, 1, 1, tzinfo=UTC)
USERS = {
    "scheduler": ("system:kube-scheduler", []),
    "controller": ("system:kube-controller-manager", []),
    "provisioner-local": (
        "plimsoll:provisioner:local.plimsoll.dev",
        ["plimsoll:provisioners"],
    ),
    "provisioner-pools": (
        "plimsoll:provisioner:pools.plimsoll.dev",
        ["plimsoll:provisioners"],
    ),
    "node-0": ("system:node:node-0", ["system:nodes", "plimsoll:nodes"]),
    "node-1": ("system:node:node-1", ["system:nodes", "plimsoll:nodes"]),
}


def written(directory: Path, nodes: int = 3, *, hollow: bool = False) -> ClusterOptions:
    wanted = ClusterOptions(data_dir=directory, port=6443, nodes=nodes, hollow=hollow)
    (directory / "apiserver").mkdir(exist_ok=True)
    load_or_create(directory / "apiserver" / "pki", NOW)
    write_credentials(directory, wanted.url, wanted.identities, NOW)
    return wanted


def named(path: Path) -> tuple[str, list[str]]:
    environment = KubeconfigEnvironment(environment={}, clock=SteppedClock())
    access = find_access(ConnectionOptions(kubeconfig=str(path)), environment)
    assert access.server == "https://127.0.0.1:6443"
    config = yaml.safe_load(path.read_text())
    data = config["users"][0]["user"]["client-certificate-data"]
    subject = x509.load_pem_x509_certificate(b64decode(data)).subject
    parts = [(part.rfc4514_attribute_name, str(part.value)) for part in subject]
    return parts[0][1], [value for kind, value in parts if kind == "O"]


def test_each_part_has_a_user_of_its_own(tmp_path: Path) -> None:
    written(tmp_path, nodes=2)
    found = {path.stem: named(path) for path in (tmp_path / "credentials").iterdir()}
    assert found == USERS


def test_hollow_nodes_are_one_user_that_is_no_single_node(tmp_path: Path) -> None:
    written(tmp_path, nodes=2, hollow=True)
    user, groups = named(tmp_path / "credentials" / "hollow-nodes.kubeconfig")
    assert (user, groups) == ("plimsoll:hollow-nodes", ["system:nodes", "plimsoll:nodes"])
    assert not (tmp_path / "credentials" / "hollow-0.kubeconfig").exists()


def test_credentials_are_readable_for_the_owner_alone_and_stay_from_start_to_start(
    tmp_path: Path,
) -> None:
    written(tmp_path)
    directory = tmp_path / "credentials"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    written(tmp_path)
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == before


def test_the_credentials_of_a_node_that_goes_are_removed(tmp_path: Path) -> None:
    wanted = written(tmp_path, nodes=2)
    remove_credentials(tmp_path, wanted.identities[-1:])
    left = {path.stem for path in (tmp_path / "credentials").iterdir()}
    assert left == USERS.keys() - {"node-1"}
    clients = tmp_path / "apiserver" / "pki" / "clients"
    assert {path.stem for path in clients.iterdir()} == left
