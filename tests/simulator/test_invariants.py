"""What no process does is done to a cluster, or not done: each of these invariants tells of it.

Others are violated by the bugs that are planted in whole seeds, see `plants`.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.decide.capacity.published import Pair
from plimsoll.decide.capacity.publishing import Publisher
from plimsoll.decide.capacity.reports import CapacityAnswer
from plimsoll.decide.plan import Plan
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.simulator.cluster.mirror import PODS, VOLUMES
from plimsoll.simulator.cluster.objects import key_in, kind_named
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.engine.chance import seconds
from plimsoll.simulator.invariants import Invariant
from plimsoll.simulator.run import NoObserver, run_scenario
from plimsoll.simulator.scenario.file import parse_scenario
from plimsoll.wire.parameters import WriteOptions, merge_patch

SCENARIO = """
lasting: 30s
settling: 30s
cluster:
  zones: [a, b]
  node: {cpu: 2, maxVolumes: 2}
  drivers:
  - name: zonal.example
    pools: [{per: zone, size: 20Gi}]
  classes:
  - {name: zonal, driver: zonal.example}
  - {name: other, driver: zonal.example}
  copies: {schedulers: 1, controllers: 1, provisioners: 1}
actions:
- {at: 0s, do: createPods, name: web, pods: 2, cpu: "1"}
- {at: 0s, do: createPods, name: app, pods: 1, cpu: "1"}
- {at: 15s, do: deletePods, name: web}
- {at: 20s, do: createPods, name: new, pods: 3, cpu: "1"}
"""
Tampering = Callable[[SimulatedCluster], Awaitable[object]]


class Intruder(NoObserver):
    """A user who does the work of processes, and does it wrong."""

    def __init__(self, tamper: Tampering) -> None:
        self._tamper = tamper

    def attach(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster

    def begin(self) -> None:
        self._cluster.user.spawn(self._act())

    async def _act(self) -> None:
        await self._cluster.user.clock.sleep(seconds(10))
        await self._tamper(self._cluster)


async def leave_alone(_cluster: SimulatedCluster) -> None: ...


def broken(tamper: Tampering = leave_alone) -> set[Invariant]:
    verdict = run_scenario(parse_scenario(SCENARIO), observer=Intruder(tamper))
    return {each.invariant for each in verdict.violations}


async def patched(cluster: SimulatedCluster, kind: str, name: str, patch: Document) -> None:
    """Its status, if that is what the patch is about."""
    options = WriteOptions(subresource="status" if "status" in patch else "")
    key = key_in(kind, name, "default")
    await cluster.client.patch(kind_named(kind), key, merge_patch(patch), options)


def a_pod(cluster: SimulatedCluster) -> Document:
    return cluster.mirror.objects[PODS]["default/app-0"]


def volumes_of(cluster: SimulatedCluster) -> dict[str, str]:
    """By claim."""
    volumes = cluster.mirror.objects[VOLUMES]
    return {each["spec"]["claimRef"]["name"]: name for name, each in volumes.items()}


def test_a_cluster_that_is_left_alone_breaks_none() -> None:
    assert broken() == set()


def test_a_volume_is_taken_from_its_claim() -> None:
    async def tamper(cluster: SimulatedCluster) -> None:
        name = volumes_of(cluster)["app-0"]
        patch = {"spec": {"claimRef": {"name": "another", "uid": "another"}}}
        await patched(cluster, "PersistentVolume", name, patch)

    assert Invariant.PAIRS_AGREE in broken(tamper)


def test_a_pod_is_said_to_run_where_its_volume_cannot_be() -> None:
    async def tamper(cluster: SimulatedCluster) -> None:
        pod = a_pod(cluster)
        (away,) = {node.name for node in cluster.shape.nodes} - {pod["spec"]["nodeName"]}
        kept = {key: pod["spec"][key] for key in ("containers", "volumes")}
        metadata = {"name": "astray", "namespace": "default"}
        spec = {**kept, "nodeName": away}
        astray = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        await cluster.client.create(kind_named("Pod"), astray)
        await patched(cluster, "Pod", "astray", {"status": {"phase": "Running"}})

    assert Invariant.REACHABLE_VOLUMES in broken(tamper)


def test_more_volumes_are_attached_than_a_node_can_have() -> None:
    async def tamper(cluster: SimulatedCluster) -> None:
        node = cluster.shape.nodes[0].name
        for number, volume in enumerate(volumes_of(cluster).values()):
            name = f"by-hand-{number}"
            source = {"persistentVolumeName": volume}
            attachment = {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "VolumeAttachment",
                "metadata": {"name": name},
                "spec": {"attacher": "zonal.example", "nodeName": node, "source": source},
            }
            await cluster.client.create(kind_named("VolumeAttachment"), attachment)
            status = {"status": {"attached": True}}
            await patched(cluster, "VolumeAttachment", name, status)

    assert Invariant.ATTACH_LIMITS in broken(tamper)


def test_columns_keep_what_a_pod_has_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget_the_load(self: Columns, key: ObjectKey) -> None:
        pod = self.pods.remove(key)
        if pod is not None:
            self._move_pod(pod, -1)
            self.held.forget(pod, self.attach)

    monkeypatch.setattr(Columns, "_remove_pod", forget_the_load)

    assert Invariant.COLUMNS_EQUAL_REBUILD in broken()


def test_published_capacity_is_not_what_the_driver_has(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = Publisher.answered

    def a_little_less(self: Publisher, pair: Pair, answer: CapacityAnswer, now: datetime) -> Plan:
        less = replace(answer, available_bytes=answer.available_bytes - 1)
        return answered(self, pair, less, now)

    monkeypatch.setattr(Publisher, "answered", a_little_less)

    assert broken() == {Invariant.CAPACITY_IS_TRUE}


def test_capacity_of_a_class_is_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    want = Publisher._want  # noqa: SLF001 - the place of the bug

    def all_but_one(self: Publisher, pairs: Iterable[Pair]) -> None:
        want(self, [pair for pair in pairs if pair.storage_class != "other"])

    monkeypatch.setattr(Publisher, "_want", all_but_one)

    assert broken() == {Invariant.CAPACITY_IS_TRUE}


def test_each_of_them_is_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/reliability.md").read_text()
    told = page[page.index("## What must be true") : page.index("## Run it")]

    assert [each for each in Invariant if f"| {each} |" not in told] == []
