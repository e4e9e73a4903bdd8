"""Where each node has a provisioner, its driver has names and volumes of its own."""

from datetime import timedelta

import msgspec
import pytest

from plimsoll.simulator.choices import VOLUMES_PATH
from plimsoll.simulator.cluster.driver_host import CsiLink
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.simulator.run import NoObserver, run_scenario
from plimsoll.simulator.scenario.actions import CreatePods
from plimsoll.simulator.scenario.faults import Cut, LeadByCsiProvisioner, Pause
from plimsoll.simulator.scenario.file import parse_scenario
from plimsoll.simulator.scenario.generate import as_on_each_node, generate
from plimsoll.simulator.scenario.scenario import Scenario
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.transport import Request

DRIVER = "local.example"
CLUSTER = """
lasting: 30s
settling: 3m
cluster:
  zones: 2
  drivers:
  - {name: local.example, onEachNode: true, pools: [{per: host, size: 10Gi}]}
  classes:
  - {name: local, driver: local.example}
  - {name: now, driver: local.example, bindingMode: Immediate}
"""


def a_scenario(actions: str = "", faults: str = "") -> Scenario:
    more = (("actions", actions), ("faults", faults))
    told = "".join(f"{key}:\n{text}" for key, text in more if text)
    return msgspec.structs.replace(parse_scenario(CLUSTER + told), seed=1)


class Played(NoObserver):
    cluster: SimulatedCluster

    def attach(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster


class TwoDrivers(Played):
    """Both are asked for the same name; then one of them is to delete what the other made."""

    ids: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def begin(self) -> None:
        self.cluster.user.spawn(self._ask())

    async def _ask(self) -> None:
        host = self.cluster.drivers[DRIVER]
        here, there = [
            CsiClient(
                CsiLink(host, node.name, SimulatedProcess(host.network.loop, "p"), is_alone=True),
                within=timedelta(seconds=10),
            )
            for node in self.cluster.shape.nodes
        ]
        mine = await here.call(methods.CREATE_VOLUME, a_request())
        again = await here.call(methods.CREATE_VOLUME, a_request())
        assert mine.volume.volume_id == again.volume.volume_id
        other = await there.call(methods.CREATE_VOLUME, a_request())
        deletion = csi.DeleteVolumeRequest(volume_id=mine.volume.volume_id)
        await there.call(methods.DELETE_VOLUME, deletion)
        self.ids = (mine.volume.volume_id, other.volume.volume_id)
        assert host.driver is not None
        self.left = tuple(record.id for record in host.driver.ledger.volumes.all())
        for client, volume_id in zip((here, there), self.ids, strict=True):
            await client.call(methods.DELETE_VOLUME, csi.DeleteVolumeRequest(volume_id=volume_id))


def a_request() -> csi.CreateVolumeRequest:
    mount = csi.VolumeCapability(
        mount=csi.VolumeCapability.MountVolume(),
        access_mode=csi.VolumeCapability.AccessMode(
            mode=csi.VolumeCapability.AccessMode.SINGLE_NODE_WRITER
        ),
    )
    return csi.CreateVolumeRequest(name="pvc-1", volume_capabilities=[mount])


def test_each_driver_makes_a_volume_of_its_own_and_deletes_no_other() -> None:
    calls = TwoDrivers()
    verdict = run_scenario(a_scenario(), observer=calls)
    assert not verdict.violations
    assert len({*calls.ids}) == 2
    assert {*calls.left} == {*calls.ids}


class Recorded(Played):
    """Which process has recorded volumes, and how often each process was started."""

    def __init__(self) -> None:
        self.recorders: set[str] = set()
        self.nodes: set[str] = set()
        self.lives: dict[str, int] = {}

    def attach(self, cluster: SimulatedCluster) -> None:
        super().attach(cluster)
        cluster.api.on_write.append(self._written)

    def _written(self, sender: SimulatedProcess, request: Request) -> None:
        if request.method == "POST" and request.path == VOLUMES_PATH:
            volume = msgspec.json.decode(request.body)
            [term] = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
            [expression] = term["matchExpressions"]
            self.nodes.update(expression["values"])
            self.recorders.add(sender.name)

    def end(self) -> None:
        components = self.cluster.components
        self.lives = {name: len(each.lives) for name, each in components.items()}


@pytest.mark.parametrize("class_name", ["local", "now"])
def test_each_provisioner_serves_its_node(class_name: str) -> None:
    pods = f"- {{do: createPods, at: 1s, name: web, pods: 12, className: {class_name}}}"
    seen = Recorded()
    verdict = run_scenario(a_scenario(actions=pods), observer=seen)
    assert not verdict.violations
    assert seen.recorders == {f"provisioner-{DRIVER}-{node}" for node in seen.nodes}
    assert len(seen.nodes) == 2


def test_the_provisioners_of_a_zone_are_lost_with_its_nodes() -> None:
    lost = Recorded()
    run_scenario(
        a_scenario(faults="- {do: loseZone, at: 5s, zone: a, lasting: 10s}"), observer=lost
    )
    there, elsewhere = [node.name for node in lost.cluster.shape.nodes]
    assert lost.lives[f"provisioner-{DRIVER}-{there}"] == 2
    assert lost.lives[f"provisioner-{DRIVER}-{elsewhere}"] == 1


def test_some_seeds_have_provisioners_on_each_node_and_faults_that_find_them() -> None:
    shapes = {seed: generate(seed).cluster for seed in range(1, 201)}
    found = [
        seed for seed, shape in shapes.items() if any(each.on_each_node for each in shape.drivers)
    ]
    assert 10 < len(found) < 50
    for seed in found:
        scenario, shape = generate(seed), shapes[seed]
        alone = {each.name for each in shape.drivers if each.on_each_node}
        struck = [each.what for each in scenario.faults if isinstance(each, Cut | Pause)]
        for driver in alone:
            assert f"leader of provisioner-{driver}" not in struck
            assert f"provisioner-{driver}-0" not in struck
        stock = {e.driver for e in scenario.faults if isinstance(e, LeadByCsiProvisioner)}
        assert not stock & alone


def test_what_leads_is_any_of_the_provisioners_where_none_leads() -> None:
    shape = parse_scenario(CLUSTER).cluster
    cut = as_on_each_node(Cut(at=1.0, what=f"leader of provisioner-{DRIVER}"), shape)
    assert cut == Cut(at=1.0, what=f"provisioner-{DRIVER}-*")
    pods = CreatePods(at=1.0, name="web")
    assert as_on_each_node(pods, shape) == pods
    assert as_on_each_node(LeadByCsiProvisioner(at=1.0, driver=DRIVER), shape) is None
