"""What is said about the peers agrees with what is pinned."""

import re
from pathlib import Path

import pytest
from conformance import peers, python_peers

from plimsoll.processes.controller import settings as controller
from plimsoll.processes.driver import configuration
from plimsoll.processes.node import settings as node
from plimsoll.processes.scheduler import settings as scheduler

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "clients.md").read_text()


def told(client: str) -> str:
    """The version that the page names in the row of a client."""
    row = re.search(rf"^\| {re.escape(client)}[ ,][^|]*\| ([^ |]+) \|", PAGE, re.MULTILINE)
    assert row is not None, f"there is no row for {client}"
    version: str = row[1]
    return version


def pinned(peer: peers.Peer) -> str:
    """The version of the module that the peer's package is in."""
    required: list[tuple[str, str]] = re.findall(
        r"^\s*(?:require )?(\S+) v(\S+)", (peer.module / "go.mod").read_text(), re.MULTILINE
    )
    [version] = [version for module, version in required if peer.package.startswith(f"{module}/")]
    return version


CLIENTS = (
    peers.KUBECTL,
    peers.KUBE_SCHEDULER,
    peers.KUBE_CONTROLLER_MANAGER,
    peers.CSI_PROVISIONER,
    peers.CSI_RESIZER,
    peers.CSI_SNAPSHOTTER,
    peers.HELM,
)


@pytest.mark.parametrize("peer", CLIENTS, ids=lambda peer: peer.name)
def test_the_page_about_clients_names_the_version_that_is_built(peer: peers.Peer) -> None:
    assert told(peer.name) == pinned(peer)


def test_helm_says_the_version_that_it_is_built_from() -> None:
    assert f"v{pinned(peers.HELM)}" == peers.HELM_VERSION
    assert peers.HELM_VERSION in peers.HELM.linker_flags


@pytest.mark.parametrize("package", ["kubernetes", "kopf"])
def test_the_page_about_clients_names_the_version_that_is_installed(package: str) -> None:
    assert told(package) == python_peers.version(package)


PREFIXES = (node.PREFIX, configuration.PREFIX, scheduler.PREFIX, controller.PREFIX)


@pytest.mark.parametrize("peer", [peers.HOSTPATHPLUGIN, peers.NODE_DRIVER_REGISTRAR])
def test_where_a_foreign_peer_is_can_be_told_to_no_process_as_a_setting(
    peer: peers.ForeignPeer,
) -> None:
    """Processes refuse settings that they do not know, and would not start."""
    assert not peer.variable.startswith(tuple(f"{prefix}_" for prefix in PREFIXES))
