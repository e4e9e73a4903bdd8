"""What `plimsoll up` starts, and with which settings."""

from itertools import pairwise
from pathlib import Path

import pytest

from plimsoll.processes.driver.configuration import DriverSettings, configured
from plimsoll.runtime.config import Sources, load_settings
from plimsoll.ui.local_cluster.layout import (
    ClusterOptions,
    ControlPlaneOptions,
    Stages,
    api_server,
    control_plane,
    controller,
    light,
    separate,
    settings_file,
    write_settings,
)
from plimsoll.ui.local_cluster.objects import LOCAL, POOLS, first_objects


def names_of(stages: Stages) -> list[str]:
    return [child.name for stage in stages for child in stage]


@pytest.mark.parametrize("hollow", [True, False], ids=["hollow", "real"])
def test_two_processes_are_a_cluster_however_many_nodes_it_has(
    tmp_path: Path, *, hollow: bool
) -> None:
    wanted = ClusterOptions(data_dir=tmp_path, port=1, nodes=12, hollow=hollow)
    assert names_of(light(wanted)) == ["control-plane", "machine"]


def test_separate_real_nodes_are_processes_of_their_own(tmp_path: Path) -> None:
    wanted = ClusterOptions(data_dir=tmp_path, port=1, nodes=2)
    names = names_of(separate(wanted))
    assert [name for name in names if name.startswith("node")] == ["node node-0", "node node-1"]
    assert {f"driver {LOCAL}", f"driver {POOLS}"} <= set(names)


@pytest.mark.parametrize(
    ("nodes", "hollow", "summary"),
    [
        (1, False, "1 node, in one zone"),
        (2, False, "2 nodes, in two zones"),
        (3, False, "3 nodes, in three zones"),
        (20, True, "20 hollow nodes, which mount nothing, in three zones"),
    ],
)
def test_the_zones_that_are_told_are_those_of_the_nodes(
    tmp_path: Path, nodes: int, summary: str, *, hollow: bool
) -> None:
    wanted = ClusterOptions(data_dir=tmp_path, port=1, nodes=nodes, hollow=hollow)
    assert wanted.summary == summary
    words = ("one", "two", "three")
    zones = {wanted.zone_of(name) for name in wanted.names}
    assert f"in {words[len(zones) - 1]} zone" in summary


def test_hollow_nodes_share_one_process_with_their_drivers(tmp_path: Path) -> None:
    wanted = ClusterOptions(data_dir=tmp_path, port=1, nodes=200, hollow=True)
    provisioners = [f"provisioner {LOCAL}", f"provisioner {POOLS}"]
    assert names_of(separate(wanted)) == ["controller", "scheduler", "machine", *provisioners]


@pytest.mark.parametrize("driver", [LOCAL, POOLS])
@pytest.mark.parametrize("hollow", [True, False], ids=["hollow", "real"])
def test_a_driver_takes_the_settings_that_are_written_for_it(
    tmp_path: Path, driver: str, *, hollow: bool
) -> None:
    wanted = ClusterOptions(data_dir=tmp_path, port=1, nodes=4, hollow=hollow)
    write_settings(wanted)
    settings = load_settings(DriverSettings, Sources(file=settings_file(wanted, driver)))
    configuration = configured(settings)
    assert [node.id for node in configuration.nodes] == list(wanted.names)
    zones = {node.topology[f"topology.{driver}/zone"] for node in configuration.nodes}
    assert zones == {"a", "b", "c"}


def test_only_one_hollow_node_has_a_socket(tmp_path: Path) -> None:
    wanted = ClusterOptions(data_dir=tmp_path, port=1, nodes=50, hollow=True)
    write_settings(wanted)
    settings = load_settings(DriverSettings, Sources(file=settings_file(wanted, LOCAL)))
    assert [node.id for node in settings.nodes if node.endpoint] == ["hollow-0"]


def test_the_server_gets_the_same_port_in_every_life(tmp_path: Path) -> None:
    child = api_server(ClusterOptions(data_dir=tmp_path, port=4711))
    assert child.arguments[child.arguments.index("--port") + 1] == "4711"


def test_classes_that_need_root_are_left_out_without_it() -> None:
    def classes(*, root: bool) -> set[str]:
        objects = first_objects(real=True, root=root)
        return {o["metadata"]["name"] for o in objects if o["kind"] == "StorageClass"}

    assert classes(root=True) - classes(root=False) == {"memory", "mirrored"}


def test_the_controller_gets_drivers_and_repair_rules_of_the_user(tmp_path: Path) -> None:
    control = ControlPlaneOptions(csi_addresses=("/mine.sock",), repair="selected-node")
    wanted = ClusterOptions(data_dir=tmp_path, control=control)
    words = controller(wanted).arguments
    addresses = [value for flag, value in pairwise(words) if flag == "--csi-address"]
    assert addresses[-1] == "/mine.sock"
    assert words[words.index("--repair") + 1] == "selected-node"
    assert "--repair-dry-run" not in words
    passed_on = control_plane(wanted).arguments
    assert passed_on[passed_on.index("--repair") + 1] == "selected-node"
    assert passed_on[passed_on.index("--csi-address") + 1] == "/mine.sock"
