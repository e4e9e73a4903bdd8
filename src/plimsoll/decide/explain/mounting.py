"""What keeps a pod that has its node from having its volumes there.

A pod whose containers may start has its volumes, whatever old events say. An attachment that
succeeded later outweighs the events of earlier failures.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from plimsoll.api.core import Event
from plimsoll.api.meta import ObjectKey, find_condition
from plimsoll.api.pods import Pod
from plimsoll.api.storage import VolumeAttachment, VolumeError
from plimsoll.decide.explain.evidence import (
    WARNING,
    Evidence,
    count_of,
    first_seen_at,
    last_seen_at,
    newest_by_message,
)
from plimsoll.decide.explain.groups import Area, Occurrences, SharedTrouble
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.reasons import Reason, SeenObject

FAILED_ATTACH, ATTACHED = "FailedAttachVolume", "SuccessfulAttachVolume"
FAILURES = (FAILED_ATTACH, "FailedMount", "FailedMapVolume")
SHOWN_FAILURES = 3
READY = "Ready"
CAN_START = "PodReadyToStartContainers"
VOLUME = re.compile(r'volume "([^"]+)"')


def is_starting(pod: Pod) -> bool:
    """It has a node, and its volumes may still be missing there."""
    can_start = find_condition(pod.status.conditions, CAN_START)
    is_waiting = pod.status.phase in ("", "Pending")
    return bool(pod.spec.node_name) and is_waiting and not (can_start and can_start.holds)


def mounting_troubles(pod: Pod, columns: Columns, evidence: Evidence) -> Iterator[SharedTrouble]:
    """Of a pod that is starting; in no particular order."""
    yield from node_troubles(pod, columns)
    claims = {volume: key for key in pod.claims if (volume := _volume_of(key, columns))}
    yield from _attachments(pod, claims, evidence)
    yield from _events(pod, claims, evidence)


def node_troubles(pod: Pod, columns: Columns) -> Iterator[SharedTrouble]:
    """What is wrong with the node that the pod is on, whether its volumes are mounted or not."""
    name = pod.spec.node_name
    about, node = SeenObject("Node", ObjectKey("", name)), columns.node(name)
    if node is None:
        sentence = f"node {name}, which the pod is on, does not exist"
        yield SharedTrouble(
            rule=Area.MOUNTING, reason=Reason.NODE_GONE, sentence=sentence, about=about
        )
        return
    ready = find_condition(node.status.conditions, READY)
    if ready is not None and not ready.holds:
        told = f": {ready.message}" if ready.message else ""
        yield SharedTrouble(
            rule=Area.MOUNTING,
            reason=Reason.NODE_NOT_READY,
            sentence=f"node {name} is not ready{told}",
            about=about,
            occurrences=Occurrences(last_at=ready.last_transition_time),
        )


Claims = Mapping[str, ObjectKey]
"""By the volumes that they are bound to."""


def _attachments(pod: Pod, claims: Claims, evidence: Evidence) -> Iterator[SharedTrouble]:
    for attachment in evidence.attachments:
        claim = claims.get(attachment.spec.source.persistent_volume_name or "")
        error = _error(attachment, pod.spec.node_name)
        if claim is not None and error is not None:
            verb, problem = error
            where = f"{verb} node {attachment.spec.node_name}"
            yield SharedTrouble(
                rule=Area.MOUNTING,
                reason=Reason.MOUNT_FAILED,
                sentence=f"the volume could not be {where}: {problem.message}",
                claim=claim,
                about=SeenObject("VolumeAttachment", attachment.key),
                occurrences=Occurrences(last_at=problem.time),
            )


def _volume_of(key: ObjectKey, columns: Columns) -> str:
    claim = columns.claim(key)
    return claim.spec.volume_name if claim else ""


def _error(attachment: VolumeAttachment, node: str) -> tuple[str, VolumeError] | None:
    """Attaching matters on the pod's node; detaching on the others, which still hold the volume."""
    status = attachment.status
    if attachment.spec.node_name == node:
        is_attached = status.attached
        return (
            ("attached to", status.attach_error)
            if status.attach_error and not is_attached
            else None
        )
    return ("detached from", status.detach_error) if status.detach_error else None


def _events(pod: Pod, claims: Claims, evidence: Evidence) -> Iterator[SharedTrouble]:
    attached = [*evidence.events_about(pod, ATTACHED)]
    warnings = (
        event
        for event in evidence.events_about(pod, *FAILURES)
        if event.type == WARNING and not _is_outdated(event, attached)
    )
    for event in islice(newest_by_message(warnings), SHOWN_FAILURES):
        seen = Occurrences(
            count=count_of(event), first_at=first_seen_at(event), last_at=last_seen_at(event)
        )
        yield SharedTrouble(
            rule=Area.MOUNTING,
            reason=Reason.MOUNT_FAILED,
            sentence=event.message,
            claim=_claim_named_in(event.message, claims),
            about=SeenObject("Event", event.key),
            occurrences=seen,
        )


def _claim_named_in(message: str, claims: Claims) -> ObjectKey | None:
    named = VOLUME.search(message)
    return claims.get(named.group(1)) if named else None


def _is_outdated(failure: Event, attached: Sequence[Event]) -> bool:
    """The same volume was attached later."""
    volume = VOLUME.search(failure.message)
    if failure.reason != FAILED_ATTACH or volume is None:
        return False
    return any(
        volume.group() in event.message and last_seen_at(event) > last_seen_at(failure)
        for event in attached
    )
