"""A domain is being given back when another controller becomes the leader, and a pod still needs it
elsewhere: the label comes back only because of a fence that no late call can end.
"""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from plimsoll.runtime.leading.epoch import LeaderEpoch
from plimsoll.runtime.leading.fence import Fence
from plimsoll.simulator.stories.sidecars import ZONE
from plimsoll.simulator.stories.story_process import StoryCsiLink
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.epochs import epoch_metadata
from plimsoll.wire.csi.errors import DriverError, DriverFailure, unreachable
from plimsoll.wire.csi.gen import csi_pb2 as csi, domains_pb2 as pb
from plimsoll.wire.csi.transport import Permit, permit_always
from tests.stories.test_takeover import MINUTE, A, B, Zones, a_database_in_b, zones

LOST = csi.Topology(segments={ZONE: "b"})


def leader(transitions: int) -> LeaderEpoch:
    made = datetime(2030, 1, 31, tzinfo=UTC)
    return LeaderEpoch(lease="kube-system/plimsoll", lease_created_at=made, transitions=transitions)


@dataclass
class Giveback:
    """The former leader has fenced zone b, the map names it no more, and a node that does not serve
    it any more has a pod with a volume of it."""

    story: Zones
    uid: str
    """Of the pod."""
    release_after: str = ""
    """Which call of the next leader the former one's release follows, before anything else."""
    refusal: DriverError | None = None
    """What the driver said to that release."""
    is_silent: bool = False
    """Whether the driver gives no answer to the question whether the fence stands."""

    async def call(self, method: str, request: bytes, within: timedelta, permit: Permit) -> bytes:
        if method == methods.CONFIRM_FENCE.name and self.is_silent:
            raise unreachable(method, "connection refused")
        link = StoryCsiLink(self.story.storage.transport(A))
        answer = await link.call(method, request, within=within, permit=permit)
        if method == self.release_after:
            self.release_after = ""
            await self.release_late()
        return answer

    async def release_late(self) -> None:
        request, epoch = pb.ReleaseDomainRequest(domain=LOST), epoch_metadata(leader(3))
        try:
            await self.story.storage.client.call(methods.RELEASE_DOMAIN, request, metadata=epoch)
        except DriverError as error:
            self.refusal = error

    async def next_leader(self) -> None:
        fence = Fence(self.story.cluster.clock)
        fence.extend(math.inf, leader(4))
        await self.story.start_node(A)
        await self.story.start_controller(fence=fence)
        await self.story.cluster.wait(MINUTE)

    @property
    def is_fenced(self) -> bool:
        return self.story.storage.driver.fences.is_fenced({ZONE: "b"})

    @property
    def confirmations(self) -> int:
        return self.story.storage.count("ConfirmFence")

    async def has_pod(self) -> bool:
        """Whether the pod is still there, and not another one of its name."""
        found = await self.story.cluster.find("Pod", "db-0")
        return found is not None and found["metadata"]["uid"] == self.uid


@dataclass
class ScriptedLink:
    """Implements CsiTransport."""

    giveback: Giveback

    async def call(
        self, method: str, request: bytes, *, within: timedelta, permit: Permit = permit_always
    ) -> bytes:
        return await self.giveback.call(method, request, within, permit)

    async def close(self) -> None:
        """There is nothing to let go of."""


@asynccontextmanager
async def a_giveback() -> AsyncIterator[Giveback]:
    async with zones() as story:
        cluster = story.cluster
        await a_database_in_b(story)
        for node in (A, B):
            await cluster.patch("Node", node, {"spec": {"unschedulable": True}})
        await cluster.delete("Pod", "db-0")
        await cluster.wait(MINUTE)
        await cluster.kill_controllers()
        await story.storage.client.call(
            methods.FENCE_DOMAIN,
            pb.FenceDomainRequest(domain=LOST),
            metadata=epoch_metadata(leader(3)),
        )
        await cluster.bind("db-0", A)
        pod = await cluster.get("Pod", "db-0")
        giveback = Giveback(story, pod["metadata"]["uid"])
        story.controller_link = ScriptedLink(giveback)
        yield giveback


async def test_the_label_comes_back_and_the_late_release_of_the_former_leader_is_refused() -> None:
    async with a_giveback() as giveback:
        giveback.release_after = methods.CONFIRM_FENCE.name
        await giveback.next_leader()
        assert giveback.refusal is not None
        assert giveback.refusal.failure is DriverFailure.SUPERSEDED
        assert giveback.is_fenced
        assert await giveback.story.labels(A) == ["a", "b"]
        assert await giveback.has_pod()
        assert giveback.story.calls == ["FenceDomain", "ReleaseDomain"]
        assert giveback.confirmations == 1


async def test_no_label_comes_back_when_the_fence_has_ended_since_it_was_seen() -> None:
    """Nor is the domain fenced once more: its own nodes may have begun to write."""
    async with a_giveback() as giveback:
        giveback.release_after = methods.LIST_DOMAINS.name
        await giveback.next_leader()
        assert giveback.refusal is None
        assert not giveback.is_fenced
        assert await giveback.story.labels(A) == ["a"]
        assert giveback.story.calls == ["FenceDomain", "ReleaseDomain"]
        assert not await giveback.has_pod()


async def test_while_the_driver_does_not_answer_the_pod_keeps_waiting_for_its_label() -> None:
    async with a_giveback() as giveback:
        giveback.is_silent = True
        await giveback.next_leader()
        assert await giveback.story.labels(A) == ["a"]
        assert await giveback.has_pod()
        *_, told = [
            text for text in await giveback.story.told("GivebackWaits") if "no label" in text
        ]
        assert told.startswith("Giveback of b: no label of it comes back: driver ")
        assert told.endswith(": connection refused.")

        giveback.is_silent = False
        await giveback.story.cluster.wait(MINUTE)
        assert await giveback.story.labels(A) == ["a", "b"]
        assert await giveback.has_pod()
        assert giveback.is_fenced


async def test_with_a_driver_that_confirms_no_fence_the_pod_is_made_anew() -> None:
    """One of an earlier version: no label comes back, and the giveback goes on without the pod."""
    async with a_giveback() as giveback:
        giveback.story.storage.unknown_calls = frozenset({methods.CONFIRM_FENCE.name})
        await giveback.next_leader()
        assert await giveback.story.labels(A) == ["a"]
        assert not await giveback.has_pod()
        assert not giveback.is_fenced
        told = await giveback.story.told("GivebackWaits")
        assert any("has no ConfirmFence, which later versions have." in text for text in told)
