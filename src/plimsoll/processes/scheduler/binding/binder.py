"""From a decision to a pod on its node: write the volumes, wait until they are bound, bind the pod.

Nothing is polled: whenever the watch shows something that has to do with the pod, it is looked at
again. Whatever fails, what is assumed of volumes and claims is afterwards what it would be without
the decision, except for what was really written: that is assumed until the watch brings it, and the
next attempt goes on from there.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.plan import Plan
from plimsoll.decide.scheduling.binding.bind_volumes import (
    AllBound,
    Choice,
    claims_of,
    releases,
    unwritten,
    volumes_of,
    written,
)
from plimsoll.decide.scheduling.binding.wait_for_volumes import (
    TIMED_OUT,
    GivenUp,
    Progress,
    StoredClaims,
    Waiting,
    check_bindings,
    check_claims,
    check_stored,
    claims_bound_before,
)
from plimsoll.decide.scheduling.reasons import Reason
from plimsoll.enact.enactor import Done, Obstacle, Overtaken
from plimsoll.processes.scheduler.binding.context import BindingContext
from plimsoll.processes.scheduler.binding.groups import Groups
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import typed

log = logging.getLogger(__name__)

CLAIMS, PODS, VOLUMES = typed(PersistentVolumeClaim), typed(Pod), typed(PersistentVolume)
SEVERAL = 2


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


@dataclass(frozen=True, slots=True)
class ChoicePart:
    """Of a choice, to be made before the next one."""

    choice: Choice
    is_held: bool = False


class Binder:
    def __init__(self, context: BindingContext, groups: Groups | None = None) -> None:
        """Without groups each volume is bound as soon as it can be, and the pod gets its node as
        soon as they all are, as kube-scheduler does it."""
        self._client = context.client
        self._enactor = context.enactor
        self._state = context.state
        self._timeout_of = context.timeout_of
        self._waiters = context.waiters
        self._groups = groups

    async def bind(self, pod: Pod, node: str, choice: Choice | AllBound) -> BindingFailed | None:
        """None: the pod is on its node. What was assumed of volumes is settled either way."""
        failed = await self._bind(pod, node, choice)
        if failed is None and self._groups is not None:
            await self._groups.end(pod)
        return failed

    async def _bind(self, pod: Pod, node: str, choice: Choice | AllBound) -> BindingFailed | None:
        if isinstance(choice, AllBound):
            return await self._assign(pod, node, choice)
        if self._groups is not None and choice.provisions and len(choice.writes) > 1:
            return await self._bind_in_order(pod, choice, self._groups)
        made = await self._write(choice)
        if isinstance(made, BindingFailed):
            return made
        failed = await self._finish(pod, made)
        if failed:
            self._forget(made)
        return failed

    def _forget(self, made: Choice) -> None:
        """kube-scheduler also takes back what the watch has yet to show."""
        self._state.forget(made if self._groups is None else unwritten(made))

    async def _bind_in_order(
        self, pod: Pod, choice: Choice, groups: Groups
    ) -> BindingFailed | None:
        """What can be given back comes first: volumes that are held back, all at once; then those
        of provisioners that hold nothing back, one by one; volumes that exist come last."""
        failed: BindingFailed | None = None
        made = choice
        for part in _parts(choice, groups):
            written = await self._make_part(pod, part, groups)
            if isinstance(written, BindingFailed):
                failed = written
                break
            awaited = (*made.awaited, *written.awaited)
            made = replace(made, static=written.static or made.static, awaited=awaited)
            if failed := await self._confirm(pod, written):
                break
        version = self._version_of(pod)
        failed = failed or await self._assign(pod, choice.node, choice, version=version)
        if failed:
            self._forget(made)
        return failed

    def _version_of(self, pod: Pod) -> str:
        """As the watch has shown it. Making volumes takes time: what was changed on the pod
        meanwhile, and has not been seen yet, is not passed over. The next attempt finds everything
        bound."""
        seen = self._state.stores.pod(pod.key)
        return "" if seen is None or seen.uid != pod.uid else seen.metadata.resource_version

    async def _make_part(
        self, pod: Pod, part: ChoicePart, groups: Groups
    ) -> Choice | BindingFailed:
        if not part.is_held:
            return await self._write(part.choice)
        try:
            made = await groups.make(pod, part.choice)
        except KubeError as error:
            sentence = f"binding volumes: {error}"
            is_conflict = error.failure is Failure.CONFLICT
            reason = Reason.CHANGED_MEANWHILE if is_conflict else None
            return BindingFailed(stage=BindingStage.WRITING, sentence=sentence, reason=reason)
        return _failed(made) if isinstance(made, GivenUp) else made

    async def _write(self, choice: Choice) -> Choice | BindingFailed:
        if self._groups is not None and (changed := await self._find_changed(choice)):
            self._state.forget(choice)
            return changed
        plan = Plan(reason="VolumesChosen", writes=choice.writes)
        outcome = await self._enactor.enact(plan)
        match outcome:
            case Done(left=left):
                return written(choice, [*map(_read, left)])
            case Overtaken(write=write, error=error) | Obstacle(write=write, error=error):
                self._state.forget_unwritten(choice, [*plan.writes].index(write))
                if isinstance(outcome, Overtaken) and self._groups is not None:
                    await self._release(choice, [*map(_read, outcome.left)])
                reason = Reason.CHANGED_MEANWHILE if isinstance(outcome, Overtaken) else None
                sentence = f"binding volumes: {error}"
                return BindingFailed(stage=BindingStage.WRITING, sentence=sentence, reason=reason)
            case _:
                assert_never(outcome)

    async def _find_changed(self, choice: Choice) -> BindingFailed | None:
        """Of several volumes that exist, one that is not as it was decided on. The server is asked
        before any of them is written: the first would keep the pod where it does not get all."""
        if len(choice.static) < SEVERAL:
            return None
        for binding in choice.static:
            key, version = binding.volume.key, binding.volume.metadata.resource_version
            try:
                stored = await self._client.find(VOLUMES, key)
            except KubeError as error:
                sentence = f"binding volumes: {error}"
                return BindingFailed(stage=BindingStage.WRITING, sentence=sentence)
            if stored is None or stored.metadata.resource_version != version:
                sentence = f'binding volumes: PersistentVolume "{key}" has changed'
                reason = Reason.CHANGED_MEANWHILE
                return BindingFailed(stage=BindingStage.WRITING, sentence=sentence, reason=reason)
        return None

    async def _release(
        self, choice: Choice, returned: Sequence[PersistentVolume | PersistentVolumeClaim]
    ) -> None:
        """Volumes that would keep the pod on a node where it does not get all of them. One that is
        bound by now stays so."""
        volumes = [each for each in returned if isinstance(each, PersistentVolume)]
        for write in releases(choice, volumes):
            await self._enactor.enact(Plan(reason="VolumesReleased", writes=(write,)))

    async def _finish(self, pod: Pod, choice: Choice) -> BindingFailed | None:
        return await self._confirm(pod, choice) or await self._assign(pod, choice.node, choice)

    async def _confirm(self, pod: Pod, choice: Choice) -> BindingFailed | None:
        """None: all of its volumes are bound."""
        progress = await self._wait(pod, choice)
        return _failed(progress) if isinstance(progress, GivenUp) else None

    async def _wait(self, pod: Pod, choice: Choice) -> Progress:
        try:
            async with self._client.clock.timeout(self._timeout_of(pod)):
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

    async def _find_late(self, pod: Pod, choice: Choice | AllBound) -> BindingFailed | None:
        """A claim that the pod cannot use any more. The server is asked for those that were bound
        before: if the watch is behind, no write of this attempt shows that."""
        stores = self._state.stores
        if late := check_claims(pod, stores):
            return _failed(late)
        try:
            keys = claims_bound_before(pod, choice)
            stored = {key: await self._client.find(CLAIMS, key) for key in keys}
        except KubeError as error:
            sentence = f"binding volumes: {error}"
            return BindingFailed(stage=BindingStage.ASSIGNING, sentence=sentence)
        late = check_stored(pod, StoredClaims(stored, stores))
        return _failed(late) if late else None

    async def _assign(
        self, pod: Pod, node: str, choice: Choice | AllBound, *, version: str = ""
    ) -> BindingFailed | None:
        if self._groups is not None and (late := await self._find_late(pod, choice)):
            return late
        try:
            await self._client.bind(pod.key, node, uid=pod.uid, version=version)
        except KubeError as error:
            if error.is_certain or not await self._is_on(pod, node):
                is_conflict = version and error.failure is Failure.CONFLICT
                return BindingFailed(
                    stage=BindingStage.ASSIGNING,
                    sentence=f"binding rejected: {error}",
                    reason=Reason.CHANGED_MEANWHILE if is_conflict else None,
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


def _parts(choice: Choice, groups: Groups) -> Iterator[ChoicePart]:
    held = {
        claim.key
        for claim in choice.provisions
        if groups.takes_part(claim) and not groups.is_published(claim, choice.node)
    }
    if held:
        yield ChoicePart(claims_of(choice, held), is_held=True)
    for claim in choice.provisions:
        if claim.key not in held:
            yield ChoicePart(claims_of(choice, {claim.key}))
    if choice.static:
        yield ChoicePart(volumes_of(choice))


def _failed(given_up: GivenUp) -> BindingFailed:
    finding = given_up.finding
    return BindingFailed(
        stage=BindingStage.WAITING,
        sentence=given_up.sentence,
        reason=finding.reason,
        claim=finding.claim,
    )


def _read(document: Document) -> PersistentVolume | PersistentVolumeClaim:
    if document["kind"] == "PersistentVolume":
        return from_document(PersistentVolume, document)
    return from_document(PersistentVolumeClaim, document)
