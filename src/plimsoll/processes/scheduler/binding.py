"""From a decision to a pod on its node: write the volumes, wait until they are bound, bind the pod.

Nothing is polled: whenever the watch shows something that has to do with the pod, it is looked at
again. Whatever fails, what is assumed of volumes and claims is afterwards what it would be without
the decision, except for what was really written: the watch brings that, and the next attempt goes
on from there.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import assert_never

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.storage import CSINode
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.plan import Plan
from plimsoll.decide.scheduling.binding.bind_volumes import AllBound, Choice, written
from plimsoll.decide.scheduling.binding.wait_for_volumes import (
    TIMED_OUT,
    GivenUp,
    Progress,
    Waiting,
    check_bindings,
)
from plimsoll.decide.scheduling.reasons import Reason
from plimsoll.enact.enactor import Done, Enactor, Obstacle, Overtaken
from plimsoll.processes.scheduler.state import SchedulerState
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient

log = logging.getLogger(__name__)

BIND_TIMEOUT = timedelta(minutes=10)
PODS = typed(Pod)

Topic = tuple[type[ApiObject], ObjectKey]


class BindingStage(StrEnum):
    """How far a binding came."""

    WRITING = "writing volumes"
    WAITING = "waiting for volumes"
    ASSIGNING = "assigning the pod"


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingFailed:
    """The pod is to be scheduled anew."""

    stage: BindingStage
    sentence: str
    reason: Reason | None = None
    """None: the API server would not have it."""
    claim: ObjectKey | None = None
    """Which it was about, where it was about one."""


class Waiters:
    """Bindings that wait, by the objects whose changes may end that."""

    def __init__(self) -> None:
        self._by_topic: dict[Topic, dict[asyncio.Event, None]] = {}
        """Those of a topic in the order in which they came."""

    def observe(self, before: ApiObject | None, after: ApiObject | None) -> None:
        for topic in dict.fromkeys((*_topics(before), *_topics(after))):
            for woken in self._by_topic.get(topic, ()):
                woken.set()

    @contextmanager
    def waiting(self, pod: Pod, choice: Choice) -> Iterator[asyncio.Event]:
        woken = asyncio.Event()
        topics = _interests(pod, choice)
        for topic in topics:
            self._by_topic.setdefault(topic, {})[woken] = None
        try:
            yield woken
        finally:
            for topic in topics:
                self._by_topic[topic].pop(woken)
                if not self._by_topic[topic]:
                    del self._by_topic[topic]


def _topics(object_: ApiObject | None) -> Iterator[Topic]:
    match object_:
        case Pod() | Node() | PersistentVolumeClaim():
            yield type(object_), object_.key
        case CSINode():
            yield Node, object_.key
        case PersistentVolume():
            yield PersistentVolume, object_.key
            if claim := object_.spec.claim:
                yield PersistentVolumeClaim, claim
        case _:
            return


def _interests(pod: Pod, choice: Choice) -> list[Topic]:
    claims = [binding.claim for binding in choice.static] + [*choice.awaited]
    topics: list[Topic] = [
        (Pod, pod.key),
        (Node, ObjectKey("", choice.node)),
        *((PersistentVolume, binding.volume.key) for binding in choice.static),
        *((PersistentVolumeClaim, claim.key) for claim in claims),
    ]
    return [*dict.fromkeys(topics)]


class Binder:
    def __init__(
        self,
        client: KubeClient,
        enactor: Enactor,
        state: SchedulerState,
        *,
        timeout: timedelta = BIND_TIMEOUT,
    ) -> None:
        self._client = client
        self._enactor = enactor
        self._state = state
        self._timeout = timeout
        self._waiters = Waiters()
        state.on_observed(self._waiters.observe)

    async def bind(self, pod: Pod, node: str, choice: Choice | AllBound) -> BindingFailed | None:
        """None: the pod is on its node. What was assumed of volumes is settled either way."""
        if isinstance(choice, AllBound):
            return await self._assign(pod, node)
        made = await self._write(choice)
        if isinstance(made, BindingFailed):
            return made
        failed = await self._finish(pod, made)
        if failed:
            self._state.forget(made)
        return failed

    async def _write(self, choice: Choice) -> Choice | BindingFailed:
        plan = Plan(reason="VolumesChosen", writes=choice.writes)
        outcome = await self._enactor.enact(plan)
        match outcome:
            case Done(left=left):
                return written(choice, [*map(_read, left)])
            case Overtaken(write=write, error=error) | Obstacle(write=write, error=error):
                self._state.forget_unwritten(choice, [*plan.writes].index(write))
                reason = Reason.CHANGED_MEANWHILE if isinstance(outcome, Overtaken) else None
                sentence = f"binding volumes: {error}"
                return BindingFailed(stage=BindingStage.WRITING, sentence=sentence, reason=reason)
            case _:
                assert_never(outcome)

    async def _finish(self, pod: Pod, choice: Choice) -> BindingFailed | None:
        progress = await self._wait(pod, choice)
        if isinstance(progress, GivenUp):
            finding = progress.finding
            return BindingFailed(
                stage=BindingStage.WAITING,
                sentence=progress.sentence,
                reason=finding.reason,
                claim=finding.claim,
            )
        return await self._assign(pod, choice.node)

    async def _wait(self, pod: Pod, choice: Choice) -> Progress:
        try:
            async with self._client.clock.timeout(self._timeout):
                with self._waiters.waiting(pod, choice) as woken:
                    while True:
                        woken.clear()
                        progress = check_bindings(pod.key, choice, self._state.stores)
                        if not isinstance(progress, Waiting):
                            return progress
                        log.debug(
                            "volume awaited",
                            extra={"pod": str(pod.key), "claim": str(progress.claim)},
                        )
                        await woken.wait()
        except TimeoutError:
            return TIMED_OUT

    async def _assign(self, pod: Pod, node: str) -> BindingFailed | None:
        try:
            await self._client.bind(pod.key, node, uid=pod.uid)
        except KubeError as error:
            if error.is_certain or not await self._is_on(pod, node):
                return BindingFailed(
                    stage=BindingStage.ASSIGNING, sentence=f"binding rejected: {error}"
                )
        log.info("pod assigned", extra={"pod": str(pod.key), "node": node})
        return None

    async def _is_on(self, pod: Pod, node: str) -> bool:
        """What became of the request is unknown: ask the server. If that fails, the watch tells."""
        try:
            seen = await self._client.find(PODS, pod.key)
        except KubeError:
            return False
        return seen is not None and (seen.uid, seen.spec.node_name) == (pod.uid, node)


def _read(document: Document) -> PersistentVolume | PersistentVolumeClaim:
    if document["kind"] == "PersistentVolume":
        return from_document(PersistentVolume, document)
    return from_document(PersistentVolumeClaim, document)
