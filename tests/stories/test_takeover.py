"""A zone is lost, its volumes are used from another one, and it is given back.

On hollow nodes, with the real driver on simulated pools.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.decide.ceph.domain_labels import DomainLabels
from plimsoll.decide.ceph.takeover.auto_takeover import AutoTakeoverMode
from plimsoll.processes.controller.csi.attacher import CsiAttacher
from plimsoll.processes.controller.csi.csi_loop import CsiSettings
from plimsoll.processes.controller.csi.drivers import DriverSources
from plimsoll.processes.controller.takeover.automatic import AutoTakeoverSettings
from plimsoll.processes.controller.takeover.loop import DomainTakeovers, TakeoverSettings
from plimsoll.processes.node.main import makers
from plimsoll.processes.node.settings import NodeProcessSettings, hollow_nodes
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.simulator.stories.cluster import Controller, Make, StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import namespace
from plimsoll.simulator.stories.schedulers import SCHEDULER, a_scheduler, node_of, volume_of
from plimsoll.simulator.stories.sidecars import (
    DRIVER,
    NAMESPACE,
    ZONE,
    StoryStorage,
    a_class,
    a_csi_driver,
    a_provisioner,
    a_storage,
    pool,
)
from plimsoll.simulator.stories.story_process import StoryCsiLink
from plimsoll.simulator.stories.workload_objects import stateful_set
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.transport import CsiTransport

MAP = ObjectKey("kube-system", "plimsoll-takeover")
A, B = "node-0", "node-1"
LOOPS = ("binding", "statefulset", "pod-gc", "attach-detach", "node-lifecycle", "taint-eviction")
SERVES_A, SERVES_B = (f"topology.{DRIVER}/serves.{zone}" for zone in "ab")
MINUTE = timedelta(minutes=1)
DETACHED = timedelta(minutes=8)
"""After that a node that does not answer has lost its volumes."""
SPREAD = [{"zone": "b"}, {"zone": "b"}, {"zone": "a"}]


def two_zones(copies: Sequence[Document] = SPREAD) -> list[Document]:
    return [
        pool("pool-a", "10Gi", topology={"zone": "a"}),
        pool("pool-b", "10Gi", topology={"zone": "b"}, copies=[*copies], minCopies=1),
    ]


def takeover_map(**targets: Sequence[str]) -> str:
    return json.dumps({"version": 2, "topology-takeover": targets, "clusters": []})


def no_takeover() -> str:
    return takeover_map()


@dataclass
class Zones:
    """Two zones with a node each."""

    cluster: StoryCluster
    storage: StoryStorage
    auto: AutoTakeoverSettings = field(default_factory=AutoTakeoverSettings)
    nodes: dict[str, Controller] = field(default_factory=dict)
    controller_link: CsiTransport | None = None
    """The way of controllers to the driver, where it is not the usual one."""

    async def write_map(self, text: str) -> None:
        found = await self.cluster.find("ConfigMap", MAP.name, MAP.namespace)
        data = {"config.json": text}
        if found is None:
            metadata = {"namespace": MAP.namespace, "name": MAP.name}
            await self.cluster.create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            )
        else:
            await self.cluster.patch("ConfigMap", MAP.name, {"data": data}, namespace=MAP.namespace)
        await self.cluster.settle()

    async def read_map(self) -> dict[str, Any]:
        found = await self.cluster.get("ConfigMap", MAP.name, MAP.namespace)
        document: dict[str, dict[str, Any]] = json.loads(found["data"]["config.json"])
        return document["topology-takeover"]

    async def start_controller(self, **life: Any) -> Controller:
        return await self.cluster.start(*LOOPS, more=self.csi_loops(), **life)

    def csi_loops(self) -> dict[str, Make]:
        settings = TakeoverSettings(
            domains=DomainLabels(driver=DRIVER, labels=(ZONE,)), map_key=MAP, auto=self.auto
        )
        return {
            "csi-attacher": self._maker(CsiAttacher),
            "takeover": self._maker(partial(DomainTakeovers, takeover=settings)),
        }

    def _maker(self, loop: Any) -> Make:
        def make(tools: Tools) -> Loop:
            link = self.controller_link or StoryCsiLink(self.storage.transport(A))
            transports = {DRIVER: link}
            made: Loop = loop(tools, CsiSettings(sources=DriverSources(transports=transports)))
            return made

        return make

    async def start_node(self, name: str) -> None:
        settings = NodeProcessSettings(hollow=2, name_prefix="node-")
        served = hollow_nodes(settings, self._transports)
        self.nodes[name] = await self.cluster.start(more=makers({name: served[name]}))

    def _transports(self, node: str) -> Mapping[str, CsiTransport]:
        return {DRIVER: StoryCsiLink(self.storage.transport(node))}

    async def lose_zone_b(self) -> None:
        """The machine is gone, and its Node object with it."""
        await self.nodes[B].kill()
        await self.cluster.delete("Node", B)

    async def labels(self, node: str) -> list[str]:
        found = await self.cluster.get("Node", node)
        prefix = f"topology.{DRIVER}/serves."
        labels = found["metadata"]["labels"]
        return sorted(label.removeprefix(prefix) for label in labels if label.startswith(prefix))

    async def told(self, reason: str) -> list[str]:
        found = await self.cluster.events(MAP.name)
        return [message for why, message in found if why == reason]

    @property
    def calls(self) -> list[str]:
        wanted = ("FenceDomain", "ReleaseDomain")
        return [call for call in self.storage.calls if call in wanted]


@asynccontextmanager
async def zones(
    copies: Sequence[Document] = SPREAD, *, auto: AutoTakeoverSettings | None = None
) -> AsyncIterator[Zones]:
    nodes = {A: {"zone": "a"}, B: {"zone": "b"}}
    async with (
        a_cluster() as cluster,
        a_storage(cluster.clock, two_zones(copies), nodes) as storage,
    ):
        story = Zones(cluster, storage, auto or AutoTakeoverSettings())
        await cluster.create(
            namespace(NAMESPACE), a_csi_driver() | {"spec": {"attachRequired": True}}
        )
        await cluster.create(a_class(parameters={"reach": "ServedDomain"}))
        await story.start_controller()
        for name in nodes:
            await story.start_node(name)
        await cluster.settle()
        async with a_scheduler(cluster), a_provisioner(cluster, storage):
            await cluster.wait(timedelta(seconds=20))
            yield story


async def a_database_in_b(story: Zones) -> str:
    """A StatefulSet whose pod is in zone b; the name of its volume."""
    cluster = story.cluster
    await cluster.patch("Node", A, {"spec": {"unschedulable": True}})
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    made = stateful_set("db", replicas=1)
    spec = made["spec"] | {"volumeClaimTemplates": [claim]}
    spec["template"]["spec"]["schedulerName"] = SCHEDULER
    await cluster.create(made | {"spec": spec})
    await cluster.wait(timedelta(seconds=20))
    assert await node_of(cluster, "db-0") == B
    await cluster.patch("Node", A, {"spec": {"unschedulable": None}})
    return await volume_of(cluster, "data-db-0")


async def is_running(story: Zones) -> bool:
    found = await story.cluster.find("Pod", "db-0")
    return found is not None and found["status"].get("phase") == "Running"


async def test_nodes_serve_the_domains_that_they_are_in() -> None:
    async with zones() as story:
        assert await story.labels(A) == ["a"]
        assert await story.labels(B) == ["b"]


async def test_a_volume_requires_the_label_of_its_domain() -> None:
    async with zones() as story:
        name = await a_database_in_b(story)
        volume = await story.cluster.get("PersistentVolume", name)
        (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term["matchExpressions"] == [{"key": SERVES_B, "operator": "In", "values": ["true"]}]
        csi_node = await story.cluster.get("CSINode", B)
        assert csi_node["spec"]["drivers"][0]["topologyKeys"] == [ZONE]
        assert await is_running(story)


async def test_a_lost_zone_is_taken_over_and_given_back() -> None:
    async with zones() as story:
        cluster = story.cluster
        volume = await a_database_in_b(story)
        await story.lose_zone_b()
        await cluster.wait(DETACHED)
        assert await node_of(cluster, "db-0") == ""

        await story.write_map(takeover_map(b=["a"]))
        await cluster.wait(MINUTE)
        assert story.calls == ["FenceDomain"]
        assert await story.labels(A) == ["a", "b"]
        assert await node_of(cluster, "db-0") == A
        assert await is_running(story)
        assert await volume_of(cluster, "data-db-0") == volume

        await story.start_node(B)
        await cluster.wait(MINUTE)
        assert await story.labels(B) == []

        await story.write_map(no_takeover())
        await cluster.wait(MINUTE)
        assert await story.labels(A) == ["a", "b"]
        assert await story.told("GivebackWaits") == [
            f"Node {A} still serves b: pod default/db-0 uses volumes of it.",
            f"Giveback of b waits: nodes {A} still serve it.",
        ]

        await cluster.patch("Node", A, {"spec": {"unschedulable": True}})
        await cluster.delete("Pod", "db-0")
        await cluster.wait(MINUTE)
        assert await story.labels(A) == ["a"]
        assert await story.labels(B) == ["b"]
        assert story.calls == ["FenceDomain", "ReleaseDomain"]
        assert await node_of(cluster, "db-0") == B
        assert await is_running(story)
        assert await volume_of(cluster, "data-db-0") == volume


async def test_a_pod_that_comes_after_the_domain_was_given_back_is_made_anew() -> None:
    """A scheduler that is behind put it on a node that had served the domain until then."""
    async with zones() as story:
        cluster = story.cluster
        volume = await a_database_in_b(story)
        for node in (A, B):
            await cluster.patch("Node", node, {"spec": {"unschedulable": True}})
        await cluster.delete("Pod", "db-0")
        await cluster.wait(MINUTE)
        late = await cluster.get("Pod", "db-0")
        await cluster.bind("db-0", A)
        await cluster.patch("Node", B, {"spec": {"unschedulable": None}})
        await cluster.wait(MINUTE)

        assert await node_of(cluster, "db-0") == B
        assert await is_running(story)
        assert await volume_of(cluster, "data-db-0") == volume
        told = [
            message for why, message in await cluster.events("db-0") if why == "DomainNotServed"
        ]
        why = "it was given back before this pod came."
        assert told == [f"Node {A} does not serve the domain of volume {volume}: {why}"]
        made = await cluster.get("Pod", "db-0")
        assert made["metadata"]["uid"] != late["metadata"]["uid"]


async def test_nothing_is_advertised_before_the_driver_has_fenced_the_domain() -> None:
    async with zones() as story:
        story.storage.unknown_calls = frozenset({methods.LIST_DOMAINS.name})
        await story.cluster.kill_controllers()
        await story.start_controller()
        await story.write_map(takeover_map(b=["a"]))
        await story.cluster.wait(MINUTE)
        assert await story.labels(A) == ["a"]
        (told,) = await story.told("TakeoverWaits")
        assert told.startswith("The takeover of b waits until the domain is fenced. driver")
        assert "has no plimsoll.v1.Domains" in told


async def test_a_pool_with_one_copy_is_not_taken_over() -> None:
    async with zones(copies=[{"zone": "b"}]) as story:
        await story.write_map(takeover_map(b=["a"]))
        await story.cluster.wait(MINUTE)
        assert story.calls == []
        assert await story.labels(A) == ["a"]
        (told,) = await story.told("TakeoverRefused")
        assert told == (
            "Takeover of b: Pool pool-b cannot be taken over: its only copy would be lost with the"
            " domain."
        )


async def test_a_bad_map_changes_nothing_and_is_told() -> None:
    async with zones() as story:
        await story.write_map(takeover_map(b=["a"]))
        await story.cluster.wait(MINUTE)
        before = await story.labels(A)
        await story.write_map('{"version": 3}')
        await story.cluster.wait(MINUTE)
        assert await story.labels(A) == before == ["a", "b"]
        assert story.calls == ["FenceDomain"]
        (told,) = await story.told("TakeoverMapNotUnderstood")
        assert told == (
            "config.json of config map kube-system/plimsoll-takeover: version 3 is not known; 2 is;"
            " correct it."
        )


@pytest.mark.parametrize("writes", range(1, 8))
async def test_a_controller_that_ends_anywhere_is_followed_by_one_that_goes_on(writes: int) -> None:
    async with zones() as story:
        await story.cluster.kill_controllers()
        await story.start_node(A)
        await story.start_controller(cut_after=writes)
        await story.write_map(takeover_map(b=["a"]))
        await story.cluster.wait(MINUTE)
        served = await story.labels(A)
        assert served == ["a"] or story.storage.driver.fences.is_fenced({ZONE: "b"})
        await story.cluster.kill_controllers()
        await story.start_node(A)
        await story.start_controller()
        await story.cluster.wait(MINUTE)
        assert await story.labels(A) == ["a", "b"]
        await story.cluster.kill_controllers()
        await story.start_node(A)
        await story.start_controller(cut_after=writes)
        await story.write_map(no_takeover())
        await story.cluster.wait(MINUTE)
        is_fenced = story.storage.driver.fences.is_fenced({ZONE: "b"})
        assert is_fenced or await story.labels(A) == ["a"]
        await story.start_controller()
        await story.cluster.wait(MINUTE)
        assert await story.labels(A) == ["a"]
        assert await story.labels(B) == ["b"]
        assert not story.storage.driver.fences.is_fenced({ZONE: "b"})


async def test_the_next_controller_asks_for_the_fence_before_it_counts_on_it() -> None:
    """A late call of the former one may still release the domain until the driver knows both."""
    async with zones() as story:
        await story.write_map(takeover_map(b=["a"]))
        await story.cluster.wait(MINUTE)
        await story.cluster.kill_controllers()
        await story.cluster.patch("Node", A, {"metadata": {"labels": {SERVES_B: None}}})
        await story.start_node(A)

        story.storage.unknown_calls = frozenset({methods.FENCE_DOMAIN.name})
        await story.start_controller()
        await story.cluster.wait(MINUTE)
        assert await story.labels(A) == ["a"]
        *_, told = await story.told("TakeoverWaits")
        assert told.startswith("The takeover of b waits until the domain is fenced. driver")
        assert "has no plimsoll.v1.Domains" in told

        story.storage.unknown_calls = frozenset()
        await story.cluster.kill_controllers()
        await story.start_node(A)
        await story.start_controller()
        await story.cluster.wait(MINUTE)
        assert await story.labels(A) == ["a", "b"]
        assert story.calls == ["FenceDomain", "FenceDomain"]


SOON = AutoTakeoverSettings(mode=AutoTakeoverMode.ON, lost_after=2 * MINUTE, back_after=2 * MINUTE)


async def test_the_controller_writes_a_lost_zone_into_the_map_and_takes_it_off_again() -> None:
    async with zones(auto=SOON) as story:
        await story.nodes[B].kill()
        await story.cluster.wait(2 * MINUTE)
        assert await story.cluster.find("ConfigMap", MAP.name, MAP.namespace) is None
        await story.cluster.wait(2 * MINUTE)
        assert await story.read_map() == {"b": ["all"]}
        assert await story.labels(A) == ["a", "b"]
        assert await story.told("DomainLost") == ["No node in b has been ready for 120 s."]

        await story.start_node(B)
        await story.cluster.wait(MINUTE)
        assert await story.read_map() == {"b": ["all"]}
        await story.cluster.wait(2 * MINUTE)
        assert await story.read_map() == {}
        assert await story.labels(A) == ["a"]
        assert await story.labels(B) == ["b"]
        assert await story.told("DomainBack") == ["All nodes in b have been ready for 120 s."]


async def test_a_dry_run_only_tells() -> None:
    dry = AutoTakeoverSettings(mode=AutoTakeoverMode.DRY_RUN, lost_after=2 * MINUTE)
    async with zones(auto=dry) as story:
        await story.nodes[B].kill()
        await story.cluster.wait(5 * MINUTE)
        assert await story.cluster.find("ConfigMap", MAP.name, MAP.namespace) is None
        assert await story.told("DomainLost") == [
            "No node in b has been ready for 120 s. b would be taken over (dry run)."
        ]
        assert await story.labels(A) == ["a"]


async def test_a_zone_whose_pools_do_not_survive_is_left_to_people() -> None:
    async with zones(copies=[{"zone": "b"}], auto=SOON) as story:
        await story.nodes[B].kill()
        await story.cluster.wait(5 * MINUTE)
        assert await story.cluster.find("ConfigMap", MAP.name, MAP.namespace) is None
        assert await story.told("DomainLostNotTakenOver") == [
            "Pool pool-b cannot be taken over: its only copy would be lost with the domain."
        ]
