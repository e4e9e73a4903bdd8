"""Explanations as documents and as tables. The documents are described in docs/reference."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from plimsoll.api.registry import Document
from plimsoll.decide.explain.amounts import amount
from plimsoll.decide.explain.claim import ClaimExplanation
from plimsoll.decide.explain.claim_state import ClaimProgress, ClaimState
from plimsoll.decide.explain.groups import NodeGroup, Occurrences, SharedTrouble, Unit
from plimsoll.decide.explain.pod import PodExplanation, PodState
from plimsoll.decide.explain.remedies import Remedy
from plimsoll.decide.explain.workload import WorkloadExplanation, kind_of
from plimsoll.decide.scheduling.policy import scheduler_of
from plimsoll.decide.scheduling.reasons import SeenObject
from plimsoll.ui.explain.held_back import records_of, story_document, story_text
from plimsoll.ui.explain.layout import Row, human, plain, table
from plimsoll.ui.explain.margin import Margin, object_document, seconds_of
from plimsoll.ui.explain.reading import NO_AGES, Ages

API_VERSION = "explain.plimsoll.dev/v1"
SHOWN_NODES = 3

CLAIM_STATES = {
    ClaimState.NOT_FOUND: "not found",
    ClaimState.LOST: "lost",
    ClaimState.DELETING: "being deleted",
    ClaimState.BOUND: "bound",
    ClaimState.SELECTED: "node selected",
    ClaimState.WAITS_FOR_NODE: "waits for a node",
    ClaimState.WAITS_FOR_VOLUME: "waits for a volume",
}


# Documents


def pod_document(explained: PodExplanation, margin: Margin) -> Document:
    pod, scheduler = explained.pod, scheduler_of(explained.pod)
    policy = margin.policies[scheduler]
    return {
        "apiVersion": API_VERSION,
        "kind": "PodExplanation",
        "pod": {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
        "scheduler": scheduler,
        "policy": policy.policy.value,
        "policySource": {"code": policy.source.value, "message": policy.sentence},
        "state": explained.state.value,
        "isWell": explained.is_well,
        "cause": _cause_document(explained.cause),
        "message": explained.message,
        "node": pod.spec.node_name or explained.best or None,
        "nodes": {"total": explained.nodes, "fitting": list(explained.fitting)},
        "claims": [_claim_document(claim) for claim in explained.claims],
        "findings": [_trouble_document(trouble, margin) for trouble in explained.findings],
        "everywhere": [_trouble_document(trouble, margin) for trouble in explained.everywhere],
        "groups": [_group_document(group, margin) for group in explained.groups],
        "heldBack": story_document(explained.held_back, margin),
        "remedy": _remedy_document(margin.remedies.get(pod.key)),
        "remarks": list(margin.remarks),
    }


def claim_document(explained: ClaimExplanation, margin: Margin) -> Document:
    return {
        "apiVersion": API_VERSION,
        "kind": "ClaimExplanation",
        "claim": _claim_document(explained.claim),
        "isWell": explained.is_well,
        "cause": _cause_document(explained.cause),
        "message": explained.message,
        "findings": [_trouble_document(trouble, margin) for trouble in explained.troubles],
        "volumes": {
            "total": explained.volumes,
            "unsuited": [
                {"code": u.mismatch.value, "count": u.volumes, "example": u.example}
                for u in explained.unsuited
            ],
            "reachableFrom": explained.reachable_from,
        },
        "heldBack": story_document(explained.held_back, margin),
        "pods": [pod_document(pod, margin) for pod in explained.pods],
        "remarks": list(margin.remarks),
    }


def workload_document(explained: WorkloadExplanation, margin: Margin) -> Document:
    workload = explained.workload
    return {
        "apiVersion": API_VERSION,
        "kind": "WorkloadExplanation",
        "workload": {
            "kind": kind_of(workload),
            "namespace": workload.namespace,
            "name": workload.name,
            "uid": workload.uid,
        },
        "isWell": explained.is_well,
        "message": explained.message,
        "pods": {"wanted": explained.wanted, "total": explained.pods},
        "findings": [_trouble_document(trouble, margin) for trouble in explained.findings],
        "groups": [
            {
                "count": len(group.pods),
                "pods": list(group.pods),
                "example": pod_document(group.example, margin),
            }
            for group in explained.groups
        ],
        "remarks": list(margin.remarks),
    }


def _remedy_document(remedy: Remedy | None) -> Document | None:
    return None if remedy is None else {"changes": list(remedy.changes), "node": remedy.node}


def _cause_document(cause: SharedTrouble | None) -> Document | None:
    if cause is None:
        return None
    claim = cause.claim.name if cause.claim else None
    return {"code": cause.reason.value, "claim": claim, "message": cause.sentence}


def _claim_document(claim: ClaimProgress) -> Document:
    return {
        "namespace": claim.key.namespace,
        "name": claim.key.name,
        "state": claim.state.value,
        "storageClass": claim.storage_class or None,
        "requestedBytes": claim.requested_bytes,
        "volume": claim.volume or None,
        "selectedNode": claim.selected_node or None,
    }


def _group_document(group: NodeGroup, margin: Margin) -> Document:
    return {
        "count": len(group.nodes),
        "nodes": list(group.nodes),
        "findings": [_trouble_document(trouble, margin) for trouble in group.troubles],
    }


def _trouble_document(trouble: SharedTrouble, margin: Margin) -> Document:
    has_seen = trouble.most is not None
    return {
        "code": trouble.reason.value,
        "rule": trouble.rule.value,
        "message": trouble.sentence,
        "claim": trouble.claim.name if trouble.claim else None,
        "unit": trouble.unit.value if has_seen or trouble.wanted is not None else None,
        "wanted": trouble.wanted,
        "seen": {"least": trouble.least, "most": trouble.most} if has_seen else None,
        "object": object_document(trouble.about, margin),
        "occurrences": _occurrences_document(trouble.occurrences, margin.now),
    }


def _occurrences_document(found: Occurrences | None, now: datetime) -> Document | None:
    if found is None:
        return None
    return {
        "count": found.count,
        "firstSecondsAgo": seconds_of(_since(found.first_at, now)),
        "lastSecondsAgo": seconds_of(_since(found.last_at, now)),
    }


def _since(at: datetime | None, now: datetime) -> timedelta | None:
    return None if at is None else max(now - at, timedelta(0))


# Tables

FINDINGS: Row = ("CODE", "CLAIM", "OBJECT", "COUNT", "LAST SEEN", "WHAT")
TROUBLES: Row = ("NODES", "CODE", "CLAIM", "WANTED", "SEEN", "OBJECT", "AGE", "WHICH")
CLAIMS: Row = ("CLAIM", "STATE", "CLASS", "SIZE", "VOLUME", "SELECTED NODE")
UNSUITED: Row = ("VOLUMES", "WHY NOT", "EXAMPLE")
EVERYWHERE = "all"


def pod_text(explained: PodExplanation, margin: Margin) -> str:
    scheduler = scheduler_of(explained.pod)
    policy = margin.policies[scheduler]
    head = f"Pod {explained.pod.key} ({scheduler}, policy {policy.policy}): {explained.state}"
    lines = [head, plain(explained.message), *_cause_lines(explained.cause)]
    if not explained.pod.spec.node_name:
        lines.append(f"Judged by policy {policy.policy}, {policy.sentence}.")
    parts = ["\n".join(lines)]
    if explained.claims:
        parts.append(table(CLAIMS, (_claim_row(claim) for claim in explained.claims)))
    if explained.held_back:
        parts.append(story_text(explained.held_back, explained.message))
    if explained.findings:
        parts.append(table(FINDINGS, _finding_rows(explained.findings, margin)))
    rows = [*_everywhere_rows(explained.everywhere, margin), *_group_rows(explained.groups, margin)]
    if rows:
        parts.append(table(TROUBLES, rows))
    if remedy := margin.remedies.get(explained.pod.key):
        changes = "; and ".join(remedy.changes)
        parts.append(f"Would help: {changes}.\nDecided again with that: node {remedy.node}.")
    if explained.state is PodState.SCHEDULABLE:
        others = [node for node in explained.fitting if node != explained.best]
        parts.append(f"Would do: {_listed([explained.best, *others])}")
    return "\n\n".join(parts)


def claim_text(explained: ClaimExplanation, margin: Margin) -> str:
    claim = explained.claim
    lines = [f"Claim {claim.key}: {CLAIM_STATES[claim.state]}", plain(explained.message)]
    parts = ["\n".join([*lines, *_cause_lines(explained.cause)])]
    parts.append(table(CLAIMS, [_claim_row(claim)]))
    if explained.reachable_from is not None:
        parts.append(f"The volume can be reached from {explained.reachable_from} nodes.")
    if explained.troubles:
        parts.append(table(FINDINGS, _finding_rows(explained.troubles, margin)))
    if explained.unsuited:
        rows = [(str(u.volumes), u.mismatch.value, u.example) for u in explained.unsuited]
        parts.append(table(UNSUITED, rows))
    return "\n\n".join([*parts, *(pod_text(pod, margin) for pod in explained.pods)])


def workload_text(explained: WorkloadExplanation, margin: Margin) -> str:
    workload = explained.workload
    verdict = "all is well" if explained.is_well else "something is wrong"
    parts = [f"{kind_of(workload)} {workload.key}: {verdict}\n{explained.message}"]
    if explained.findings:
        parts.append(table(FINDINGS, _finding_rows(explained.findings, margin)))
    for group in explained.groups:
        text = pod_text(group.example, margin)
        if len(group.pods) > 1:
            text = f"{len(group.pods)} pods with the same answer: {_listed(group.pods)}\n{text}"
        parts.append(text)
    return "\n\n".join(parts)


def _cause_lines(cause: SharedTrouble | None) -> list[str]:
    if cause is None:
        return []
    claim = f" (claim {cause.claim.name})" if cause.claim else ""
    return [f"Cause: {cause.reason}{claim}: {plain(cause.sentence)}"]


def _claim_row(claim: ClaimProgress) -> Row:
    return (
        claim.key.name,
        CLAIM_STATES[claim.state],
        claim.storage_class,
        amount(claim.requested_bytes, Unit.BYTES),
        claim.volume,
        claim.selected_node,
    )


def _finding_rows(troubles: Iterable[SharedTrouble], margin: Margin) -> Iterator[Row]:
    for trouble in troubles:
        found = trouble.occurrences
        last = _since(found.last_at, margin.now) if found else None
        is_counted = found is not None and found.count > 1
        yield (
            trouble.reason.value,
            trouble.claim.name if trouble.claim else "",
            str(trouble.about) if trouble.about else "",
            str(found.count) if found and is_counted else "",
            f"{human(last)} ago" if last is not None else "",
            plain(trouble.sentence),
        )


def _everywhere_rows(troubles: Iterable[SharedTrouble], margin: Margin) -> Iterator[Row]:
    for trouble in troubles:
        yield (EVERYWHERE, *_trouble_cells(trouble, margin), trouble.sentence)


def _group_rows(groups: Iterable[NodeGroup], margin: Margin) -> Iterator[Row]:
    for group in groups:
        count, which = str(len(group.nodes)), _listed(group.nodes)
        for trouble in group.troubles:
            yield (count, *_trouble_cells(trouble, margin), which)
            count, which = "", ""


def _trouble_cells(trouble: SharedTrouble, margin: Margin) -> Row:
    return (
        trouble.reason.value,
        trouble.claim.name if trouble.claim else "",
        "" if trouble.wanted is None else amount(trouble.wanted, trouble.unit),
        _range(trouble),
        str(trouble.about) if trouble.about else "",
        _age(margin.ages.get(trouble.about, NO_AGES)) if trouble.about else "",
    )


def _range(trouble: SharedTrouble) -> str:
    if trouble.least is None or trouble.most is None:
        return ""
    least, most = (amount(number, trouble.unit) for number in (trouble.least, trouble.most))
    return most if least == most else f"{least} to {most}"


def _age(ages: Ages) -> str:
    shown = ages.since_changed if ages.since_changed is not None else ages.since_made
    return "" if shown is None else human(shown)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN_NODES])
    left = len(names) - SHOWN_NODES
    return shown if left <= 0 else f"{shown} and {left} more"


def seen_in(explained: PodExplanation | ClaimExplanation | WorkloadExplanation) -> set[SeenObject]:
    """The objects that an explanation speaks of."""
    match explained:
        case ClaimExplanation():
            own = {t.about for t in explained.troubles if t.about}
            own |= records_of(explained.held_back)
            return own.union(*map(seen_in, explained.pods))
        case WorkloadExplanation():
            own = {t.about for t in explained.findings if t.about}
            return own.union(*(seen_in(group.example) for group in explained.groups))
        case PodExplanation():
            groups = (t for g in explained.groups for t in g.troubles)
            troubles = [*explained.findings, *explained.everywhere, *groups]
            own = {trouble.about for trouble in troubles if trouble.about}
            return own | records_of(explained.held_back)
