from pathlib import Path

import pytest

from plimsoll.simulator.scenario import actions, faults
from plimsoll.simulator.scenario.file import dump, load, parse_scenario, process_names
from plimsoll.simulator.scenario.generate import generate
from plimsoll.simulator.scenario.strict import ScenarioError

CLUSTER = """
cluster:
  zones: 2
  racksPerZone: 2
  nodesPerRack: 3
  node: {cpu: 8, memory: 32Gi, maxVolumes: 4}
  drivers:
  - name: zonal.example
    pools: [{per: zone, size: 100Gi}]
  - name: local.example
    pools: [{name: disk, per: host, size: 10Gi}, {name: shared, per: region, size: 1Ti}]
  classes:
  - {name: zonal, driver: zonal.example}
  - {name: now, driver: zonal.example, bindingMode: Immediate, allowedTopologies: {zone: [b]}}
"""


def test_counts_become_nodes_in_racks_and_zones() -> None:
    nodes = parse_scenario(CLUSTER).cluster.nodes

    assert len(nodes) == 12
    assert {node.zone for node in nodes} == {"a", "b"}
    assert {node.rack for node in nodes} == {"a-1", "a-2", "b-1", "b-2"}
    assert {(node.cpu, node.memory, node.max_volumes) for node in nodes} == {("8", "32Gi", 4)}


def test_a_pool_per_place_becomes_one_pool_for_each() -> None:
    zonal, local = parse_scenario(CLUSTER).cluster.drivers

    assert [pool["topology"] for pool in zonal.pools] == [{"zone": "a"}, {"zone": "b"}]
    assert zonal.keys == ("zone",)
    assert len(local.pools) == 13
    assert local.keys == ("zone", "host")
    everywhere = [{"zone": "a"}, {"zone": "b"}]
    assert {"name": "shared", "size": "1Ti", "topology": everywhere} in local.pools


def test_allowed_topologies_get_the_prefix_of_the_driver() -> None:
    now = parse_scenario(CLUSTER).cluster.classes[1]

    assert now.is_immediate
    assert now.allowed == (("topology.zonal.example/zone", ("b",)),)


def test_times_are_durations_or_seconds() -> None:
    text = """
lasting: 10m
settling: 90
actions:
- {at: 1m30s, do: createPods, name: burst}
faults:
- {at: 90.5s, do: loseZone, zone: a, lasting: 2m}
- {at: 3, do: skewClock, what: apiserver, ahead: -1m}
"""
    scenario = parse_scenario(CLUSTER + text)

    assert (scenario.lasting, scenario.settling) == (600.0, 90.0)
    assert scenario.actions == (actions.CreatePods(at=90.0, name="burst"),)
    assert scenario.faults == (
        faults.LoseZone(at=90.5, zone="a", lasting=120.0),
        faults.SkewClock(at=3.0, what="apiserver", ahead=-60.0),
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_scenario_that_was_written_is_read_as_the_same(seed: int, tmp_path: Path) -> None:
    scenario = generate(seed)
    path = tmp_path / "scenario.yaml"
    path.write_text(dump(scenario))

    assert load(path) == scenario


def test_every_process_that_a_fault_can_name_is_listed() -> None:
    names = process_names(parse_scenario(CLUSTER).cluster)

    assert {"apiserver", "driver zonal.example", "scheduler-0", "nodes a-1"} <= {*names}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("cluster: {zone: 3}", 'did you mean "zones"?', id="key-in-the-cluster"),
        pytest.param(CLUSTER + "duration: 3m", 'scenario: unknown key "duration"', id="top-key"),
        pytest.param(
            CLUSTER + "actions: [{at: 1s, do: scale, name: a, replica: 3}]",
            'actions[0]: unknown key "replica"; did you mean "replicas"?',
            id="key-of-an-action",
        ),
        pytest.param(
            CLUSTER + "actions: [{at: 1s, do: scale, name: a}]",
            "actions[0]: needs replicas",
            id="key-that-is-needed",
        ),
        pytest.param(
            CLUSTER + "faults: [{at: 1s, do: explode}]",
            'faults[0]: unknown do "explode"; known are breakWatches',
            id="fault-that-is-not-known",
        ),
        pytest.param(
            CLUSTER + "faults: [{at: 1s, do: loseZone, zone: z}]",
            'faults[0].zone: no "z"; there are a, b',
            id="zone-that-is-not-there",
        ),
        pytest.param(
            CLUSTER + "actions: [{at: 1s, do: createPods, name: a, className: fast}]",
            'actions[0].className: no "fast"; there are now, zonal',
            id="class-that-is-not-there",
        ),
        pytest.param(
            CLUSTER + "faults: [{at: 1s, do: delayWatches, resource: persistentvolume}]",
            'faults[0].resource: no "persistentvolume"; did you mean "persistentvolumes"?',
            id="resource-that-is-not-there",
        ),
        pytest.param(
            CLUSTER + "  - {name: disk, driver: kubernetes.io/no-provisioner}\n"
            "actions: [{at: 1s, do: createZonalVolumes, name: v, zone: a, className: disk}]",
            'actions[0].className: class "disk" has no driver; choose another class',
            id="volumes-that-no-driver-can-make",
        ),
        pytest.param(
            CLUSTER + "faults: [{at: 1s, do: cut, what: etcd}]",
            'faults[0].what: no "etcd"; processes are apiserver',
            id="process-that-is-not-there",
        ),
        pytest.param(
            CLUSTER + "faults: [{at: soon, do: fillDisk}]",
            'faults[0].at: "soon" is not a duration; write it like 90s',
            id="time-that-is-none",
        ),
        pytest.param(
            CLUSTER + "faults: [{at: 6m, do: fillDisk}]",
            "faults[0].at: is after the end, lasting: 5m",
            id="time-after-the-end",
        ),
        pytest.param(
            CLUSTER + "actions: [{at: 1s, do: createPods, name: a, size: big}]",
            'actions[0].size: "big" is not a quantity; write it like 10Gi',
            id="size-that-is-none",
        ),
        pytest.param(
            CLUSTER + "actions: [{at: 1s, do: createPods, name: A_b}]",
            'actions[0].name: "A_b" cannot be a name',
            id="name-that-the-server-would-refuse",
        ),
        pytest.param(
            CLUSTER + "actions: [{at: 1s, do: createPods, name: a, pods: -1}]",
            "actions[0].pods: -1 is not a number from 0",
            id="negative-count",
        ),
        pytest.param(
            CLUSTER + "actions: [{at: 1s, do: createPods, name: a, pods: many}]",
            "actions[0].pods: expected int, got str",
            id="text-for-a-number",
        ),
        pytest.param(
            CLUSTER + "faults: [{at: 1s, do: conflicts, rate: 5}]",
            "faults[0].rate: 5 is not a share",
            id="rate-above-one",
        ),
        pytest.param(
            CLUSTER.replace("zones: 2", "zones: 2\n  zones: 3"),
            'line 4: "zones" is given twice',
            id="key-given-twice",
        ),
        pytest.param(
            CLUSTER.replace("nodesPerRack: 3", "nodesPerRack: 9000"),
            "cluster: has 36000 nodes; 1 to 16384 can be simulated",
            id="too-many-nodes",
        ),
        pytest.param(
            CLUSTER.replace("driver: zonal.example}", "driver: other}"),
            'cluster.classes[0].driver: no "other"; there are local.example, zonal.example',
            id="driver-that-is-not-there",
        ),
        pytest.param(
            CLUSTER.replace("zones: 2", "zones: 2\n  repair: [everything]"),
            'cluster.repair: no rule "everything"; there are direct-node',
            id="repair-rule-that-is-not-known",
        ),
        pytest.param(
            CLUSTER + "faults: [{at: 1s, do: driverFails, driver: zonal.example, code: NONE}]",
            'faults[0].code: no "NONE"; there are ABORTED',
            id="code-that-is-not-known",
        ),
        pytest.param(
            CLUSTER + "faults: [{at: 1s, do: driverFails, driver: zonal.example, code: OK}]",
            'faults[0].code: no "OK"',
            id="code-of-a-success",
        ),
        pytest.param(
            CLUSTER + "faults: [{at: 1s, do: driverHangs, driver: zonal.example, call: Create}]",
            'faults[0].call: no "Create"; known are ControllerExpandVolume',
            id="call-that-is-not-known",
        ),
        pytest.param(
            CLUSTER + "actions: [{at: 1s, do: setTakeoverMap, takeover: {a: [b]}}]",
            "actions[0]: nothing reads the map; add takeover: DRIVER",
            id="map-that-nothing-reads",
        ),
        pytest.param(
            CLUSTER.replace("zones: 2", "zones: 2\n  takeover: zonal.example")
            + "actions: [{at: 1s, do: setTakeoverMap, takeover: {a: [z]}}]",
            'actions[0].takeover: no "z"; there are a, ',
            id="zone-of-the-map-that-is-not-there",
        ),
        pytest.param("seed: 1", "scenario: needs cluster", id="no-cluster"),
        pytest.param("- a", "scenario: must be keys with values, not list", id="list"),
        pytest.param("{", "is not YAML", id="not-yaml"),
        pytest.param("", "must be keys with values, not nothing", id="empty"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_remedy(text: str, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text)

    assert said in str(caught.value)


def test_errors_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"absent\.yaml: cannot be read"):
        load(tmp_path / "absent.yaml")


EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_can_be_read(path: Path) -> None:
    assert load(path).actions
