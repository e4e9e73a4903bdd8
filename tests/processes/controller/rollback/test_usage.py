"""What one watch can say of a volume, and when it can say nothing any more."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolume
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.processes.controller.rollback.usage import SeenVersions, UsageWatch
from plimsoll.reconcile.observed import Observed
from plimsoll.runtime.ids import seeded_ids
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.simulator.stories.objects import claim, pod, uses, volume
from plimsoll.simulator.stories.story_process import StoryProcess
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient

CLAIM = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data", "uid": "u"}


def reached_from(label: str) -> Document:
    expression = {"key": label, "operator": "In", "values": ["a"]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


REACH = reached_from("zone")


@dataclass
class Bench:
    cluster: StoryCluster
    usage: UsageWatch
    claim_uid: str

    async def doubt(self, name: str = "made") -> str:
        found = await self.cluster.client.get(typed(PersistentVolume), ObjectKey("", name))
        nodes = (await self.cluster.client.list(typed(Node))).items
        doubt = self.usage.find_doubt(found, {node.name: node for node in nodes})
        return doubt.why if doubt else ""


@asynccontextmanager
async def a_bench() -> AsyncIterator[Bench]:
    async with a_cluster() as cluster:
        for name in ("a", "b"):
            await cluster.add_node(f"node-{name}", zone=name)
        await cluster.create(volume("old", claim_ref=CLAIM, affinity=REACH))
        client = KubeClient(
            InProcessTransport(cluster.server), clock=cluster.clock, chance=Random(0)
        )
        observed = Observed(client)
        usage = UsageWatch(observed, seeded_ids(3))
        process = StoryProcess("watch")
        for run in observed.start().values():
            process.spawn(_forever(run))
        await cluster.settle()
        await cluster.create(claim())
        uid = (await cluster.get("PersistentVolumeClaim", "data"))["metadata"]["uid"]
        await cluster.create(volume("made", claim_ref=CLAIM | {"uid": uid}, affinity=REACH))
        await cluster.settle()
        yield Bench(cluster, usage, uid)
        await process.bury()


async def _forever(run: Callable[[], Awaitable[None]]) -> None:
    await run()


async def test_a_volume_that_was_made_under_its_eyes_is_unused_until_a_pod_has_a_node() -> None:
    async with a_bench() as bench:
        assert await bench.doubt() == ""
        await bench.cluster.create(pod(volumes=[uses("data")]))
        await bench.cluster.settle()
        assert await bench.doubt() == ""
        await bench.cluster.bind("web", "node-a")
        await bench.cluster.settle()
        assert "had node node-a" in await bench.doubt()


async def test_a_pod_that_came_and_went_is_not_forgotten() -> None:
    async with a_bench() as bench:
        await bench.cluster.create(pod(volumes=[uses("data")], node="node-a"))
        await bench.cluster.delete("Pod", "web", grace=0)
        await bench.cluster.settle()
        assert "had node node-a" in await bench.doubt()


async def test_a_pod_on_a_node_that_does_not_reach_the_volume_has_not_used_it() -> None:
    async with a_bench() as bench:
        await bench.cluster.create(pod(volumes=[uses("data")], node="node-b"))
        await bench.cluster.settle()
        assert await bench.doubt() == ""


async def test_a_pod_on_a_node_that_reached_the_volume_then_has_used_it() -> None:
    async with a_bench() as bench:
        await bench.cluster.create(pod(volumes=[uses("data")], node="node-a"))
        await bench.cluster.delete("Pod", "web", grace=0)
        await bench.cluster.patch("Node", "node-a", {"metadata": {"labels": {"zone": "b"}}})
        await bench.cluster.settle()
        assert "had node node-a" in await bench.doubt()


async def test_of_a_volume_that_other_nodes_reach_than_before_nothing_is_known() -> None:
    async with a_bench() as bench:
        beta, zone = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
        await bench.cluster.patch("Node", "node-a", {"metadata": {"labels": {beta: "a"}}})
        await bench.cluster.patch("Node", "node-b", {"metadata": {"labels": {zone: "a"}}})
        reference = CLAIM | {"uid": bench.claim_uid}
        await bench.cluster.create(
            volume("moved", claim_ref=reference, affinity=reached_from(beta))
        )
        await bench.cluster.create(pod(volumes=[uses("data")], node="node-a"))
        await bench.cluster.delete("Pod", "web", grace=0)
        await bench.cluster.settle()
        assert "had node node-a" in await bench.doubt("moved")
        spec = {"spec": {"nodeAffinity": reached_from(zone)}}
        await bench.cluster.patch("PersistentVolume", "moved", spec)
        await bench.cluster.settle()
        assert "without a gap" in await bench.doubt("moved")


async def test_an_attachment_is_a_use_also_after_it_is_gone() -> None:
    async with a_bench() as bench:
        source = {"persistentVolumeName": "made"}
        spec = {"attacher": "disk.example.com", "nodeName": "node-a", "source": source}
        attachment = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttachment",
            "metadata": {"name": "attached"},
            "spec": spec,
        }
        await bench.cluster.create(attachment)
        await bench.cluster.delete("VolumeAttachment", "attached")
        await bench.cluster.settle()
        assert await bench.doubt() == "it was attached to a node"


async def test_of_a_volume_that_was_there_before_it_nothing_is_known() -> None:
    async with a_bench() as bench:
        labels = {"metadata": {"labels": {"changed": "since"}}}
        await bench.cluster.patch("PersistentVolume", "old", labels)
        await bench.cluster.settle()
        assert "without a gap" in await bench.doubt("old")


async def test_a_claim_that_took_a_volume_meanwhile_is_known_to_have_had_none_before() -> None:
    async with a_bench() as bench:
        taken = {"spec": {"volumeName": "made"}}
        await bench.cluster.patch("PersistentVolumeClaim", "data", taken)
        await bench.cluster.settle()
        assert await bench.doubt() == ""
        await bench.cluster.delete("PersistentVolumeClaim", "data")
        await bench.cluster.settle()
        assert await bench.doubt() == "", "the proof is asked for when the claim is gone"


async def test_a_claim_that_named_a_volume_before_its_object_was_made_may_have_had_it() -> None:
    async with a_bench() as bench:
        await bench.cluster.create(claim("restored", volume="again"))
        uid = (await bench.cluster.get("PersistentVolumeClaim", "restored"))["metadata"]["uid"]
        reference = CLAIM | {"name": "restored", "uid": uid}
        await bench.cluster.create(volume("again", claim_ref=reference, affinity=REACH))
        await bench.cluster.settle()
        assert await bench.doubt("again") == "its claim may have had it before its object was made"


async def test_after_a_gap_it_is_another_watch_and_knows_nothing_of_what_is_there() -> None:
    async with a_bench() as bench:
        before = bench.usage.id
        assert before
        informer = bench.usage._pods.informer  # noqa: SLF001 - as if it had listed anew
        assert informer is not None
        informer.listed_version = str(int(informer.listed_version) + 1000)
        assert bench.usage.id not in ("", before)
        assert "without a gap" in await bench.doubt()


async def test_it_tells_when_the_watches_have_passed_a_version() -> None:
    async with a_bench() as bench:
        first = SeenVersions("1", "1", "1", "1")
        assert bench.usage.has_passed(first)
        for kind in SeenVersions._fields:
            assert not bench.usage.has_passed(first._replace(**{kind: "1000000"}))
            assert not bench.usage.has_passed(first._replace(**{kind: "opaque"}))
