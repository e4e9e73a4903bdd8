"""Lets kube-scheduler and our scheduler place the same workload, pod by pod.

Each has a cluster of its own on an API server of its own. After each pod both must have given it a
node, or both refused it. Where several nodes are equally good each scheduler takes any: the pod is
then moved on our side to where kube-scheduler has it, so that the clusters stay identical. Every
choice of either must be among the best nodes by the rules that the oracles have tested.
"""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from conformance.client_checks import CLOCK
from conformance.cluster_stories import place
from conformance.workloads.check import Referee
from conformance.workloads.cluster import WorkloadCluster
from conformance.workloads.generate import AddPod, RemovePod, Workload, a_workload
from plimsoll.api.registry import Document

SETTLED = timedelta(seconds=1)
"""Until both schedulers have seen the nodes and volumes."""
AT_ONCE = 8

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Competitor:
    scheduler: str
    kubeconfig: Path


@dataclass(frozen=True, slots=True)
class Tally:
    pods: int = 0
    placed: int = 0
    equal: int = 0
    """Of those that were placed, on the same node."""

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.pods + other.pods, self.placed + other.placed, self.equal + other.equal)


class Match:
    """Of one workload, between the two."""

    def __init__(self, theirs: WorkloadCluster, ours: WorkloadCluster) -> None:
        self._theirs = theirs
        self._ours = ours
        self._referee = Referee()
        self._pods: dict[str, Document] = {}
        """Those on nodes, as they are on our side."""

    async def play(self, workload: Workload) -> Tally:
        await self._theirs.set_up()
        for kind_, document in await self._ours.set_up():
            self._referee.put(kind_, document)
        await CLOCK.sleep(SETTLED)
        tally = Tally()
        for step in workload.steps:
            if isinstance(step, AddPod):
                tally += await self._add(step)
            else:
                await self._remove(step)
        return tally

    async def _add(self, step: AddPod) -> Tally:
        _, created = await asyncio.gather(self._theirs.add_pod(step), self._ours.add_pod(step))
        best = self._referee.best_nodes(created)
        theirs, ours = await asyncio.gather(
            self._theirs.decision(step.name), self._ours.decision(step.name)
        )
        expected = best or {""}
        assert theirs in expected, f"{step.name}: kube-scheduler: {theirs!r}, the rules: {best}"
        assert ours in expected, f"{step.name}: our scheduler: {ours!r}, the rules: {best}"
        if not theirs:
            await self._remove(RemovePod(step.name))
            return Tally(pods=1)
        if ours != theirs:
            await self._ours.remove_pod(step.name)
            created = await self._ours.add_pod(step, theirs)
        placed = {**created, "spec": {**created["spec"], "nodeName": theirs}}
        self._pods[step.name] = placed
        self._referee.put("Pod", placed)
        return Tally(pods=1, placed=1, equal=int(ours == theirs))

    async def _remove(self, step: RemovePod) -> None:
        await asyncio.gather(self._theirs.remove_pod(step.name), self._ours.remove_pod(step.name))
        if gone := self._pods.pop(step.name, None):
            self._referee.remove_pod(gone)


async def play_all(theirs: Competitor, ours: Competitor, seeds: range, say: Say) -> Tally:
    """Raises AssertionError at the first difference, with the seed that shows it again."""
    total, done, waiting = Tally(), 0, list(seeds)

    async def play_some() -> None:
        nonlocal total, done
        while waiting:
            seed = waiting.pop(0)
            played = await _play_one(theirs, ours, seed)
            total, done = total + played, done + 1
            if done % 50 == 0:
                say(f"{done} workloads")

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(play_some())
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    return total


async def _play_one(theirs: Competitor, ours: Competitor, seed: int) -> Tally:
    workload = a_workload(seed)
    async with AsyncExitStack() as stack:
        clusters = []
        for each in (theirs, ours):
            at = await stack.enter_async_context(place(each.kubeconfig))
            clusters.append(WorkloadCluster(at, each.scheduler, workload))
        try:
            return await Match(*clusters).play(workload)
        except AssertionError as error:
            raise AssertionError(f"workload {seed}: {error}") from error
        finally:
            for cluster in clusters:
                await cluster.leave()
