import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from random import Random

import pytest

from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.decide.ceph.takeover.auto_takeover import AutoTakeoverMode
from plimsoll.decide.rollback.mode import RollbackMode
from plimsoll.enact.leading import LeadershipLostError
from plimsoll.processes.controller.in_process.provisioners.registry import ProvisionerSetupError
from plimsoll.processes.controller.loops import LOOPS
from plimsoll.processes.controller.main import (
    ControllerProcess,
    check,
    is_real_cluster,
    makers,
    wanted_loops,
    without_missing_kinds,
)
from plimsoll.processes.controller.settings import (
    ControllerSettings,
    csi_settings,
    repair_settings,
    rollback_settings,
    takeover_settings,
)
from plimsoll.runtime.clock import SteppedClock
from plimsoll.runtime.config import ConfigError
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim, pod, volume
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kube import KubeClient
from tests.processes.controller.flaky import FlakyTransport
from tests.wire.scripted import ScriptedTransport, answer, refusal

pytestmark = pytest.mark.virtual_time


def test_on_the_embedded_server_everything_runs_but_what_has_to_be_asked_for() -> None:
    found = set(wanted_loops(ControllerSettings(), on_cluster=False))
    assert found == set(LOOPS) - {"repair", "rollback", "takeover"}


def test_rollback_runs_wherever_it_is_asked_for() -> None:
    for mode in (RollbackMode.DRY_RUN, RollbackMode.ON):
        settings = ControllerSettings(controllers="binding", rollback=mode)
        assert wanted_loops(settings, on_cluster=True) == ["binding", "rollback"]
    without = ControllerSettings(controllers="binding,-rollback", rollback=RollbackMode.ON)
    assert wanted_loops(without, on_cluster=True) == ["binding"]


def test_rollback_keeps_its_records_where_the_controller_is_elected() -> None:
    settings = ControllerSettings(leader_elect_namespace="storage", rollback=RollbackMode.ON)
    assert rollback_settings(settings).namespace == "storage"
    with pytest.raises(ConfigError, match="--rollback-after"):
        rollback_settings(ControllerSettings(rollback_after=timedelta(0)))


def test_takeovers_run_wherever_a_driver_is_named_for_them() -> None:
    settings = ControllerSettings(controllers="binding", takeover="d.org")
    assert wanted_loops(settings, on_cluster=True) == ["binding", "takeover"]
    found = takeover_settings(settings)
    assert found is not None
    assert found.domains.labels == ("topology.kubernetes.io/zone",)
    assert (str(found.map_key), found.map_entry) == (
        "kube-system/plimsoll-takeover",
        "config.json",
    )
    assert takeover_settings(ControllerSettings()) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (ControllerSettings(auto_takeover=AutoTakeoverMode.ON), "name the driver by --takeover"),
        (ControllerSettings(takeover="d.org", takeover_labels=""), "name at least one label"),
        (ControllerSettings(takeover="d.org", takeover_labels="a/zone,b/zone"), "one domain"),
        (ControllerSettings(takeover="d.org", takeover_map="map"), "NAMESPACE/NAME/KEY"),
        (ControllerSettings(auto_takeover_after=timedelta(0)), "longer than 0"),
    ],
)
def test_settings_of_takeovers_that_make_no_sense_are_told(
    settings: ControllerSettings, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        takeover_settings(settings)


def test_repairs_run_wherever_rules_are_named() -> None:
    settings = ControllerSettings(controllers="binding", repair="selected-node")
    assert wanted_loops(settings, on_cluster=True) == ["binding", "repair"]


def test_on_a_real_cluster_loops_for_drivers_run_as_soon_as_one_is_named() -> None:
    settings = ControllerSettings(csi_addresses="/run/csi/csi.sock")
    assert wanted_loops(settings, on_cluster=True) == ["csi-attacher", "resizer", "snapshotter"]


def test_drivers_are_reached_by_sockets() -> None:
    found = csi_settings(ControllerSettings(csi_addresses="/run/a.sock, unix:///run/b.sock"))
    assert found.sources.addresses == ("/run/a.sock", "unix:///run/b.sock")
    with pytest.raises(ConfigError, match=r"--csi-address: .*10\.0\.0\.1:10000"):
        check(ControllerSettings(csi_addresses="10.0.0.1:10000"))


async def test_without_the_kinds_of_snapshots_no_loop_waits_for_them() -> None:
    async with a_cluster() as cluster:
        names = ["resizer", "snapshotter"]
        assert await without_missing_kinds(cluster.client, names) == names
    missing = refusal(404, "NotFound", "the server could not find the requested resource")
    client = KubeClient(ScriptedTransport(missing), clock=SteppedClock(), chance=Random(1))
    assert await without_missing_kinds(client, names) == ["resizer"]


def test_loops_can_be_left_out() -> None:
    found = wanted_loops(ControllerSettings(controllers="*,-job"), on_cluster=False)
    assert "job" not in found
    assert "binding" in found


def test_an_unknown_loop_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"unknown controllers: bnding; known: .*binding"):
        wanted_loops(ControllerSettings(controllers="bnding"), on_cluster=False)


def test_an_unknown_repair_rule_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"--repair: unknown magic; known: .*selected-node"):
        repair_settings(ControllerSettings(repair="magic"))


@pytest.mark.parametrize(
    "settings",
    [
        ControllerSettings(controllers="bnding"),
        ControllerSettings(repair="magic"),
        ControllerSettings(provisioners={"plimsoll.dev/host-path": {"root": "here"}}),
        ControllerSettings(controllers="repair"),
    ],
)
def test_what_can_be_known_to_be_wrong_is_told_without_a_server(
    settings: ControllerSettings,
) -> None:
    with pytest.raises((ConfigError, ProvisionerSetupError)):
        check(settings)


def test_provisioners_are_of_no_concern_without_the_loop_that_uses_them() -> None:
    check(ControllerSettings(controllers="job", provisioners={"nobody": {"a": "b"}}))


async def test_the_number_of_finished_pods_that_may_stay_is_a_setting() -> None:
    settings = ControllerSettings(controllers="pod-gc", terminated_pod_gc_threshold=1)
    loops = makers(["pod-gc"], settings)
    async with a_cluster(more=loops) as cluster:
        await cluster.add_node("node-1")
        await cluster.create(pod("a", node="node-1"), pod("b", node="node-1"))
        await cluster.mark_finished("a", "b")
        await cluster.wait(timedelta(seconds=25))
        assert len(await cluster.names("Pod")) == 1


async def test_a_server_that_cannot_be_reached_is_waited_for() -> None:
    clock = SteppedClock()
    transport = ScriptedTransport(
        KubeError(Failure.UNAVAILABLE, "refused"),
        KubeError(Failure.UNAVAILABLE, "refused"),
        answer(body={"gitVersion": "v1.37.0+plimsoll"}),
    )
    client = KubeClient(transport, clock=clock, chance=Random(1))
    asked = asyncio.ensure_future(is_real_cluster(client))
    await clock.run(timedelta(seconds=10))
    assert await asked is False


async def test_a_server_of_another_version_is_a_real_cluster() -> None:
    transport = ScriptedTransport(answer(body={"gitVersion": "v1.36.3"}))
    client = KubeClient(transport, clock=SteppedClock(), chance=Random(1))
    assert await is_real_cluster(client) is True


async def test_a_server_that_refuses_us_is_an_error() -> None:
    transport = ScriptedTransport(refusal(401, "Unauthorized"))
    client = KubeClient(transport, clock=SteppedClock(), chance=Random(1))
    with pytest.raises(KubeError):
        await is_real_cluster(client)


class Copy:
    """One of several processes on the same cluster."""

    def __init__(self, cluster: StoryCluster, directory: Path, seed: int) -> None:
        self.line = FlakyTransport(InProcessTransport(cluster.server))
        client = KubeClient(self.line, clock=cluster.clock, chance=Random(seed))
        settings = ControllerSettings(controllers="binding", data_dir=str(directory))
        self.process = ControllerProcess(settings, client)
        self.loops: list[str] = []
        self.task = asyncio.ensure_future(self.process.run(self.loops.extend))

    @property
    def is_ready(self) -> bool:
        return self.process.pages()["/readyz"]().status == HTTPStatus.OK


@asynccontextmanager
async def two_copies(directory: Path) -> AsyncIterator[tuple[StoryCluster, Copy, Copy]]:
    async with a_cluster() as cluster:
        first = Copy(cluster, directory, 1)
        await cluster.wait(timedelta(seconds=1))
        second = Copy(cluster, directory, 2)
        await cluster.wait(timedelta(seconds=5))
        try:
            yield cluster, first, second
        finally:
            for copy in (first, second):
                copy.task.cancel()
            ending = asyncio.gather(first.task, second.task, return_exceptions=True)
            await cluster.wait(timedelta(seconds=10))
            await ending


async def test_of_two_copies_one_acts_and_the_other_takes_over(tmp_path: Path) -> None:
    async with two_copies(tmp_path) as (cluster, first, second):
        assert first.loops == ["binding"]
        assert second.loops == []
        assert second.is_ready
        lease = await cluster.get("Lease", "plimsoll-controller", namespace="kube-system")
        assert lease["spec"]["holderIdentity"]

        first.task.cancel()
        await cluster.wait(timedelta(seconds=10))
        assert second.loops == ["binding"]
        await cluster.create(volume(), claim())
        await cluster.settle()
        bound = await cluster.get("PersistentVolumeClaim", "data")
        assert bound["status"]["phase"] == "Bound"


async def test_a_copy_that_loses_the_lease_ends(tmp_path: Path) -> None:
    async with two_copies(tmp_path) as (cluster, first, second):
        first.line.fails = lambda _: True
        await cluster.wait(timedelta(seconds=60))
        assert second.loops == ["binding"]
        with pytest.raises(LeadershipLostError):
            await first.task


async def test_a_process_is_ready_when_it_has_seen_everything(tmp_path: Path) -> None:
    async with two_copies(tmp_path) as (_, first, _):
        assert first.is_ready
        pages = first.process.pages()
        assert b"pv_collector_bound_pv_count" in pages["/metrics"]().body
        assert pages["/healthz"]().body == b"ok\n"
