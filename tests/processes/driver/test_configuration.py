"""Flags and files become what a driver is told, or a sentence about what is wrong."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from plimsoll.processes.driver.configuration import DriverSettings, configured, parse_disk
from plimsoll.processes.driver.settings import Disk, Mounts
from plimsoll.runtime.config import ConfigError

GIB = 1024**3


def settings(**given: Any) -> DriverSettings:
    return msgspec.convert(given, DriverSettings)


def test_one_node_has_a_place_and_a_socket_by_default() -> None:
    made = configured(settings(nodeId="n1", dataDir="/data", topology={"zone": "a"}))
    (node,) = made.nodes
    assert (made.driver_name, node.endpoint) == ("local.plimsoll.dev", "unix:///data/csi.sock")
    assert node.topology == {
        "topology.local.plimsoll.dev/node": "n1",
        "topology.local.plimsoll.dev/zone": "a",
    }


def test_pools_are_not_on_nodes() -> None:
    made = configured(settings(backend="pools", nodeId="n1", driverName="p.example"))
    assert made.nodes[0].topology == {}


def test_several_nodes_each_have_their_own() -> None:
    nodes = [
        {"id": "a", "endpoint": "unix:///a.sock", "disks": ["/srv/a=1Gi"], "maxVolumes": 3},
        {"id": "b", "memory": "2Gi"},
    ]
    made = configured(settings(nodes=nodes, maxVolumes=7, mounts="none"))
    first, second = made.nodes
    assert first.disks == (Disk(path=Path("/srv/a"), size_bytes=GIB),)
    assert (first.max_volumes, second.max_volumes) == (3, 7)
    assert (second.memory_bytes, second.endpoint) == (2 * GIB, "")
    assert made.mounts is Mounts.NONE


@pytest.mark.parametrize(
    ("text", "disk"),
    [
        ("/srv/a", Disk(path=Path("/srv/a"))),
        ("/srv/a=5Gi", Disk(path=Path("/srv/a"), size_bytes=5 * GIB)),
        ("/srv/x=y=5Gi", Disk(path=Path("/srv/x=y"), size_bytes=5 * GIB)),
    ],
)
def test_a_disk_may_have_a_size(text: str, disk: Disk) -> None:
    assert parse_disk(text) == disk


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"backend": "tape"}, "--backend: tape: known are cephfs, local, lvm, pools, rbd"),
        ({"driverName": "Not A Name"}, "--driver-name"),
        ({"driverName": "x" * 60}, "at most 54"),
        ({"disks": ["/srv=much"]}, "--disk: /srv=much"),
        ({"disks": ["=5Gi"]}, "write PATH or PATH=SIZE"),
        ({"disks": ["/srv=0"]}, "has no room"),
        ({"memory": "-1Gi"}, "memory: -1Gi must not be negative"),
        ({"topology": {"zone": "not a label"}}, "is no value of a label"),
        ({"topology": {"!": "a"}}, "is no name of a label"),
        ({"nodeId": "bad id"}, "is no value of a label"),
        ({"nodeId": "n" * 300}, "an id has 1 to 256 bytes"),
        ({"nodes": [{"id": "a"}, {"id": "a"}]}, "several have the id a"),
        ({"nodes": [{"id": "a"}], "nodeId": "b"}, "say this for each of the nodes"),
        ({"pools": "/nonexistent/pools.yaml"}, "cannot be read"),
        ({"nodes": [{"id": "a", "maxVolumes": -1}]}, "must not be negative"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_is_said(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        configured(settings(**given))


def test_pools_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "pools.yaml"
    file.write_text("pools:\n- {name: a, size: 1Gi}\n")
    made = configured(settings(backend="pools", pools=str(file)))
    assert made.options == {"pools": [{"name": "a", "size": "1Gi"}]}
    file.write_text("- just a list")
    with pytest.raises(ConfigError, match="settings by name"):
        configured(settings(backend="pools", pools=str(file)))
