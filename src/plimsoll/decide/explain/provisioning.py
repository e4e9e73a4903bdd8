"""What keeps a claim from getting its volume, as far as objects, events and leases prove it.

A claim that is bound has no such troubles, whatever old events say, unless its volume went with its
node. Where leases or events could not be read, nothing is concluded from their absence.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import DataSource, PersistentVolumeClaim
from plimsoll.decide.annotations import (
    BETA_STORAGE_PROVISIONER,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
)
from plimsoll.decide.capacity.findings import stale_sentence
from plimsoll.decide.claims.match import is_reachable
from plimsoll.decide.explain.claim_state import ClaimState, claim_progress
from plimsoll.decide.explain.evidence import (
    WARNING,
    Evidence,
    count_of,
    first_seen_at,
    last_seen_at,
    newest_by_message,
)
from plimsoll.decide.explain.groups import Area, Occurrences, SharedTrouble
from plimsoll.decide.explain.presence import find_stopped_provisioner
from plimsoll.decide.provisioning.calls import Code
from plimsoll.decide.provisioning.intents import IntentState
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.reasons import Reason, SeenObject
from plimsoll.decide.scheduling.rules.volume_binding.claims import is_fully_bound
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import NO_PROVISIONER

FAILED, BEGUN = "ProvisioningFailed", "Provisioning"
SNAPSHOT_GROUP, SNAPSHOT, CLAIM = (
    "snapshot.storage.k8s.io",
    "VolumeSnapshot",
    "PersistentVolumeClaim",
)
OVERDUE = timedelta(minutes=5)
"""A provisioner that is at work says so within seconds, and again at each of its attempts."""
SHOWN_FAILURES = 3
GRPC_CODE = re.compile(r"code = (\w+)")
NO_TOPOLOGY = "error generating accessibility requirements"
"""How csi-provisioner and ours begin when a node does not have what the driver's topology needs."""


def provisioning_troubles(
    claim: PersistentVolumeClaim, columns: Columns, evidence: Evidence
) -> Iterator[SharedTrouble]:
    """In no particular order."""
    if claim.is_being_deleted:
        return
    if is_fully_bound(claim):
        yield from _stranded(claim, columns)
        return
    yield from _data_source(claim, columns, evidence)
    yield from _selected_node(claim, columns)
    provisioner = provisioner_of(claim, columns)
    if not provisioner:
        return
    stopped = [*_stopped(claim, provisioner, columns, evidence)]
    failed = [*_failed(claim, columns, evidence)]
    yield from (*stopped, *failed)
    if not stopped and not failed and not _is_made(claim, evidence):
        yield from _overdue(claim, provisioner, evidence)
    yield from _stale_capacity(claim, columns, evidence)


def provisioner_of(claim: PersistentVolumeClaim, columns: Columns) -> str:
    """Who was asked for the volume, or will be; empty: only volumes that exist can serve it."""
    found = handed_over_to(claim)
    storage_class = columns.storage_class(claim.storage_class) if claim.storage_class else None
    if not found and storage_class is not None:
        found = storage_class.provisioner
    return "" if found == NO_PROVISIONER else found


def handed_over_to(claim: PersistentVolumeClaim) -> str:
    older = claim.annotations.get(BETA_STORAGE_PROVISIONER, "")
    return claim.annotations.get(STORAGE_PROVISIONER, older)


def provisioning_code(message: str) -> Reason:
    """A final answer of the driver, and a node that it cannot serve, are refusals. After any other
    answer the same is tried again and may succeed."""
    if message.startswith(NO_TOPOLOGY) or f": {NO_TOPOLOGY}" in message:
        return Reason.PROVISIONER_REFUSED
    found = GRPC_CODE.search(message)
    codes = {code.value: code for code in Code}
    code = codes.get(found.group(1)) if found else None
    if code is None or code.may_still_be_running or code in (Code.INTERNAL, Code.UNKNOWN):
        return Reason.PROVISIONING_FAILED
    return Reason.PROVISIONER_REFUSED


# The source of a copy


def _data_source(
    claim: PersistentVolumeClaim, columns: Columns, evidence: Evidence
) -> Iterator[SharedTrouble]:
    source = claim.spec.data_source_ref or claim.spec.data_source
    if source is None:
        return
    about = SeenObject(source.kind, ObjectKey(source.namespace or claim.namespace, source.name))
    found = _source_problem(source, about, columns, evidence)
    if found is not None:
        reason, sentence = found
        yield _trouble(claim, reason, sentence, about)


def _source_problem(
    source: DataSource, about: SeenObject, columns: Columns, evidence: Evidence
) -> tuple[Reason, str] | None:
    if (source.api_group or "", source.kind) == ("", CLAIM):
        other = columns.claim(about.key)
        if other is None:
            return Reason.DATA_SOURCE_NOT_FOUND, f"claim {about.key}, to be cloned, does not exist"
        is_ready, why = is_fully_bound(other), "is not bound to a volume"
    elif (source.api_group, source.kind) == (SNAPSHOT_GROUP, SNAPSHOT):
        if evidence.snapshots is None:
            return None
        snapshot = evidence.snapshots.get(about.key)
        if snapshot is None:
            return Reason.DATA_SOURCE_NOT_FOUND, f"snapshot {about.key} does not exist"
        error = snapshot.status.error if snapshot.status else None
        is_ready, why = snapshot.is_ready, f"is not ready{f': {error.message}' if error else ''}"
    else:
        return None
    return None if is_ready else (Reason.DATA_SOURCE_NOT_READY, f"{about} {why}")


# The node, the provisioner, the capacity


def _selected_node(claim: PersistentVolumeClaim, columns: Columns) -> Iterator[SharedTrouble]:
    node = claim.annotations.get(SELECTED_NODE)
    if node and columns.node(node) is None:
        sentence = f"node {node}, selected for the claim, does not exist"
        yield _trouble(claim, Reason.NODE_GONE, sentence, SeenObject("Node", ObjectKey("", node)))


def _stranded(claim: PersistentVolumeClaim, columns: Columns) -> Iterator[SharedTrouble]:
    """The volume was made for a node that is gone, and no other node can reach it."""
    node = claim.annotations.get(SELECTED_NODE)
    volume = columns.volume(claim.spec.volume_name)
    if not node or volume is None or columns.node(node) is not None:
        return
    if not any(is_reachable(volume, each.labels) for each in columns.all_nodes()):
        sentence = f"node {node}, which volume {volume.name} was made for, does not exist"
        about = SeenObject("Node", ObjectKey("", node))
        yield _trouble(claim, Reason.NODE_GONE, f"{sentence}; no other node reaches it", about)


def _stopped(
    claim: PersistentVolumeClaim, provisioner: str, columns: Columns, evidence: Evidence
) -> Iterator[SharedTrouble]:
    if not handed_over_to(claim) and columns.volumes_of_class(claim.storage_class):
        return  # a volume that exists may serve it, without any provisioner
    node = claim.annotations.get(SELECTED_NODE, "")
    stopped = find_stopped_provisioner(provisioner, node, evidence.leases, evidence.now)
    if stopped is not None:
        about = SeenObject("Lease", stopped.lease)
        sentence = f"provisioner {provisioner} does not run: {stopped.sentence}"
        seen = Occurrences(last_at=stopped.last_at)
        trouble = _trouble(claim, Reason.PROVISIONER_STOPPED, sentence, about)
        yield replace(trouble, occurrences=seen)


def _failed(
    claim: PersistentVolumeClaim, columns: Columns, evidence: Evidence
) -> Iterator[SharedTrouble]:
    name = claim.storage_class
    is_there = bool(name) and columns.storage_class(name) is not None
    warnings = (e for e in evidence.events_about(claim, FAILED) if e.type == WARNING)
    current = (e for e in warnings if not (is_there and _tells_of_missing(name, e.message)))
    for event in islice(newest_by_message(current), SHOWN_FAILURES):
        seen = Occurrences(
            count=count_of(event), first_at=first_seen_at(event), last_at=last_seen_at(event)
        )
        about, code = SeenObject("Event", event.key), provisioning_code(event.message)
        yield replace(_trouble(claim, code, event.message, about), occurrences=seen)


def _tells_of_missing(class_name: str, message: str) -> bool:
    """As the controller, kube-controller-manager and provisioners say it."""
    return "storageclass" in message.lower() and f'"{class_name}" not found' in message


def _overdue(
    claim: PersistentVolumeClaim, provisioner: str, evidence: Evidence
) -> Iterator[SharedTrouble]:
    handed_over_at = _handed_over_at(claim, evidence)
    if handed_over_at is None or evidence.events is None:
        return
    begun = next(evidence.events_about(claim, BEGUN), None)
    last_at = max(handed_over_at, last_seen_at(begun)) if begun else handed_over_at
    if evidence.now - last_at < OVERDUE:
        return
    began = "it began, and no event shows a result" if begun else "no event shows that it began"
    sentence = f"handed over to provisioner {provisioner}; {began}"
    seen = Occurrences(first_at=handed_over_at, last_at=last_at)
    about = SeenObject(CLAIM, claim.key)
    trouble = _trouble(claim, Reason.PROVISIONING_OVERDUE, sentence, about)
    yield replace(trouble, occurrences=seen)


def _is_made(claim: PersistentVolumeClaim, evidence: Evidence) -> bool:
    """The volume is there, and held back until the others of its pod are."""
    noted = evidence.intents.get(claim.uid, ())
    return any(each.intent.state is IntentState.MADE for each in noted)


def _handed_over_at(claim: PersistentVolumeClaim, evidence: Evidence) -> datetime | None:
    return evidence.handed_over_at.get(claim.key) if handed_over_to(claim) else None


def _stale_capacity(
    claim: PersistentVolumeClaim, columns: Columns, evidence: Evidence
) -> Iterator[SharedTrouble]:
    """Only while a node is still to be chosen: from then on the capacity is not looked at."""
    if evidence.capacity is None:
        return
    if claim_progress(claim.key, columns).state is not ClaimState.WAITS_FOR_NODE:
        return
    entries = [e for e in evidence.capacity.entries if _is_consulted(e.driver, columns)]
    entries = [e for e in entries if e.capacity.storage_class_name == claim.storage_class]
    stale = [(e, said) for e in entries if (said := stale_sentence(e, evidence.now))]
    if stale:
        entry, sentence = stale[0]
        about = SeenObject("CSIStorageCapacity", entry.capacity.key)
        told = f"{len(stale)} of {len(entries)} capacity objects are stale: {sentence}"
        looked_at = entry.freshness.looked_at if entry.freshness else None
        seen = Occurrences(count=len(stale), last_at=looked_at)
        trouble = _trouble(claim, Reason.CAPACITY_STALE, told, about)
        yield replace(trouble, occurrences=seen)


def _is_consulted(driver: str, columns: Columns) -> bool:
    found = columns.csi_driver(driver)
    return found is not None and bool(found.spec.storage_capacity)


def _trouble(
    claim: PersistentVolumeClaim, reason: Reason, sentence: str, about: SeenObject
) -> SharedTrouble:
    return SharedTrouble(
        rule=Area.CAPACITY if reason is Reason.CAPACITY_STALE else Area.PROVISIONING,
        reason=reason,
        sentence=sentence,
        claim=claim.key,
        wanted=claim.spec.requested_bytes,
        about=about,
    )
