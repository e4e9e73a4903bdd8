"""How the scheduler learns that a node was refused to a pod, and what it remembers of it.

The selected node is taken off a claim: by csi-provisioner, by our own provisioner, or by a
controller. Every pod of ours that waits for the claim remembers the node then, whether its binding
was still waiting or was given up before. What the provisioner said is read from its Warning event
on the claim; a scheduler that may not read events remembers the refusal without it.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from plimsoll.api.core import Event
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import (
    BETA_STORAGE_PROVISIONER,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
)
from plimsoll.decide.provisioning.holds import hold_of
from plimsoll.decide.scheduling.columns.capacity import largest_volume
from plimsoll.decide.scheduling.queue.backoff import Attempts
from plimsoll.decide.scheduling.reasons import Finding
from plimsoll.decide.scheduling.refusals import (
    LOOP_BACKOFF,
    Refusal,
    Refusals,
    find_refused_node,
    tell_pause,
    tell_refusal,
)
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import is_in_segment
from plimsoll.processes.scheduler.state import SchedulerState
from plimsoll.reconcile.indexes import PODS_BY_CLAIM
from plimsoll.runtime.log import without_secrets
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import Selection

log = logging.getLogger(__name__)

EVENTS = typed(Event)
PROVISIONING_FAILED = "ProvisioningFailed"
EVENT_DELAY = timedelta(seconds=1)
"""Provisioners write the event beside the claim: it may be seen a little later."""


@dataclass(frozen=True, slots=True)
class RefusalPause:
    until: datetime
    why: Finding


class RefusalLearner:
    def __init__(
        self, client: KubeClient, state: SchedulerState, *, is_ours: Callable[[Pod], bool]
    ) -> None:
        self._client = client
        self._state = state
        self._is_ours = is_ours
        self.memory = Refusals()
        state.on_observed(self.observe)

    def nodes_refused_to(self, pod: Pod) -> list[str]:
        """Whose refusals count now, the least recently refused first."""
        return [each.node for each in self.memory.active(pod, self._client.clock.now())]

    def nodes_to_try_last(self, pod: Pod) -> list[str]:
        """In this order."""
        return [each.node for each in self.memory.in_turn(pod, self._client.clock.now())]

    def find_pause(self, pod: Pod, node: str) -> RefusalPause | None:
        """Until when the pod waits before this node is tried again for it; None: it need not."""
        refusal, until = self.memory.find(pod, node), self.memory.not_before(pod, node)
        if refusal is None or until is None or until <= self._client.clock.now():
            return None
        claim = self._state.stores.claim(refusal.claim)
        if claim is None or claim.spec.volume_name or SELECTED_NODE in claim.annotations:
            return None  # nothing is to be made, or it is being made
        pause = LOOP_BACKOFF.delay(Attempts(unschedulable=refusal.times))
        return RefusalPause(until, tell_pause(refusal, pause))

    def observe(self, before: ApiObject | None, after: ApiObject | None) -> None:
        either = after or before
        if isinstance(either, Pod):
            if after is None or either.spec.node_name:
                self.memory.forget_pod(either.key)
            return
        self.memory.observe(before, after, self._labels_of)
        node = find_refused_node(before, after)
        if node is not None and isinstance(after, PersistentVolumeClaim):
            hold = _hold_id(before)
            for pod in self._waiting_for(after):
                self.memory.add(pod, self._refusal(pod, node, after, hold))

    async def learn(self, pod: Pod, node: str, claim: ObjectKey, *, since: datetime) -> str:
        """What to tell of the refusal that ended a binding which began at `since`."""
        seen = self._state.stores.claim(claim)
        if seen is None or not self._is_there(pod):
            return f'provisioning failed for PVC "{claim.name}"'
        known = self.memory.find(pod, node)
        if known is None or known.at < since:
            # The watch may have skipped the moment in which the claim named the node.
            known = self.memory.add(pod, self._refusal(pod, node, seen, _hold_id(seen)))
        elif known.claim != claim:
            # The node was taken off all claims of the pod.
            known = self.memory.correct(pod, self._refusal(pod, node, seen)) or known
        if error := await self._find_error(seen):
            known = self.memory.set_error(pod, node, error) or known
        log.info(
            "node refused",
            extra={"pod": str(pod.key), "node": node, "claim": str(claim), "times": known.times},
        )
        return tell_refusal(known).sentence

    def _refusal(
        self, pod: Pod, node: str, claim: PersistentVolumeClaim, hold: str = ""
    ) -> Refusal:
        return Refusal(
            node=node,
            claim=claim.key,
            storage_class=claim.storage_class,
            driver=self._driver_of(claim),
            at=self._client.clock.now(),
            published_bytes=self._published_bytes(node, claim.storage_class),
            returned_bytes=self._bytes_besides(pod, claim),
            hold=hold,
        )

    def _published_bytes(self, node: str, storage_class: str) -> int | None:
        labels = self._labels_of(node)
        largest = [
            size.value
            for published in self._state.stores.capacities.snapshot().objects.values()
            if published.storage_class_name == storage_class
            and is_in_segment(labels, published)
            and (size := largest_volume(published)) is not None
        ]
        return max(largest, default=None)

    def _bytes_besides(self, pod: Pod, refused: PersistentVolumeClaim) -> int:
        """Of the pod's other claims that have no volume yet: theirs are made and deleted again."""
        others = (self._state.stores.claim(key) for key in pod.claims if key != refused.key)
        return sum(
            claim.spec.requested_bytes for claim in others if claim and not claim.spec.volume_name
        )

    def _is_there(self, pod: Pod) -> bool:
        seen = self._state.stores.pod(pod.key)
        return seen is not None and seen.uid == pod.uid

    def _driver_of(self, claim: PersistentVolumeClaim) -> str:
        for annotation in (STORAGE_PROVISIONER, BETA_STORAGE_PROVISIONER):
            if driver := claim.annotations.get(annotation):
                return driver
        storage_class = self._state.stores.storage_class(claim.storage_class)
        return storage_class.provisioner if storage_class else ""

    def _waiting_for(self, claim: PersistentVolumeClaim) -> Iterator[Pod]:
        """Pods of ours that name the claim and have no node yet."""
        stores = self._state.stores
        for key in sorted(stores.pods.snapshot().by(PODS_BY_CLAIM, str(claim.key))):
            pod = stores.pod(key)
            if pod is not None and not pod.spec.node_name and self._is_ours(pod):
                yield pod

    def _labels_of(self, node: str) -> Mapping[str, str]:
        found = self._state.stores.node(node)
        return found.labels if found else {}

    async def _find_error(self, claim: PersistentVolumeClaim) -> str:
        """Empty: no event says."""
        try:
            error = await self._newest_error(claim)
            if not error:
                await self._client.clock.sleep(EVENT_DELAY)
                error = await self._newest_error(claim)
        except KubeError as problem:
            log.debug("events not read", extra={"claim": str(claim.key), "why": str(problem)})
            return ""
        return without_secrets(error)

    async def _newest_error(self, claim: PersistentVolumeClaim) -> str:
        fields = {
            "involvedObject.kind": "PersistentVolumeClaim",
            "involvedObject.name": claim.name,
            "involvedObject.uid": claim.uid,
            "reason": PROVISIONING_FAILED,
            "type": "Warning",
        }
        wanted = ",".join(f"{name}={value}" for name, value in fields.items())
        selection = Selection(namespace=claim.namespace, fields=wanted)
        events = (await self._client.list_page(EVENTS, selection)).items
        return max(events, key=_seen_at).message if events else ""


def _hold_id(claim: ApiObject | None) -> str:
    hold = hold_of(claim) if isinstance(claim, PersistentVolumeClaim) else None
    return "" if hold is None else hold.id


def _seen_at(event: Event) -> tuple[str, str]:
    """Later ones are larger."""
    series = event.series.last_observed_time if event.series else None
    at = series or event.last_timestamp or event.event_time or event.metadata.creation_timestamp
    return (at.isoformat() if at else "", event.name)
