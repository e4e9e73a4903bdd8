"""Explanations as documents and as tables. The documents are described in docs/reference."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.decide.explaining.claim import ClaimExplanation
from plimsoll.decide.explaining.groups import NodeGroup, SharedTrouble, Unit
from plimsoll.decide.explaining.pod import PodExplanation, PodState
from plimsoll.decide.explaining.standing import ClaimStanding, ClaimState
from plimsoll.decide.scheduling.reasons import Seen

API_VERSION = "explain.plimsoll.dev/v1"
SHOWN_NODES = 3
UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
KIBI = 1024
MILLI = 1000

CLAIM_STATES = {
    ClaimState.NOT_FOUND: "not found",
    ClaimState.LOST: "lost",
    ClaimState.DELETING: "being deleted",
    ClaimState.BOUND: "bound",
    ClaimState.SELECTED: "volume being made",
    ClaimState.WAITS_FOR_NODE: "waits for a node",
    ClaimState.WAITS_FOR_VOLUME: "waits for a volume",
}


@dataclass(frozen=True, slots=True)
class Ages:
    """How long ago an object was made and last written; None: not known."""

    since_made: timedelta | None = None
    since_changed: timedelta | None = None


AgesOf = Mapping[Seen, Ages]
NO_AGES = Ages()


# Documents


def pod_document(explained: PodExplanation, scheduler: str, policy: str, ages: AgesOf) -> Document:
    pod = explained.pod
    return {
        "apiVersion": API_VERSION,
        "kind": "PodExplanation",
        "pod": {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
        "scheduler": scheduler,
        "policy": str(policy),
        "state": explained.state.value,
        "message": explained.message,
        "node": pod.spec.node_name or explained.best or None,
        "nodes": {"total": explained.nodes, "fitting": list(explained.fitting)},
        "claims": [_claim_document(claim) for claim in explained.claims],
        "everywhere": [_trouble_document(trouble, ages) for trouble in explained.everywhere],
        "groups": [_group_document(group, ages) for group in explained.groups],
    }


def claim_document(explained: ClaimExplanation, pods: Sequence[Document], ages: AgesOf) -> Document:
    return {
        "apiVersion": API_VERSION,
        "kind": "ClaimExplanation",
        "claim": _claim_document(explained.claim),
        "message": explained.message,
        "findings": [_trouble_document(trouble, ages) for trouble in explained.troubles],
        "volumes": {
            "total": explained.volumes,
            "unsuited": [
                {"code": u.mismatch.value, "count": u.volumes, "example": u.example}
                for u in explained.unsuited
            ],
            "reachableFrom": explained.reachable_from,
        },
        "pods": list(pods),
    }


def _claim_document(claim: ClaimStanding) -> Document:
    return {
        "namespace": claim.key.namespace,
        "name": claim.key.name,
        "state": claim.state.value,
        "storageClass": claim.storage_class or None,
        "requestedBytes": claim.requested_bytes,
        "volume": claim.volume or None,
        "selectedNode": claim.selected_node or None,
    }


def _group_document(group: NodeGroup, ages: AgesOf) -> Document:
    return {
        "count": len(group.nodes),
        "nodes": list(group.nodes),
        "findings": [_trouble_document(trouble, ages) for trouble in group.troubles],
    }


def _trouble_document(trouble: SharedTrouble, ages: AgesOf) -> Document:
    has_seen = trouble.most is not None
    return {
        "code": trouble.reason.value,
        "rule": trouble.rule.value,
        "message": trouble.sentence,
        "claim": trouble.claim.name if trouble.claim else None,
        "unit": trouble.unit.value if has_seen or trouble.wanted is not None else None,
        "wanted": trouble.wanted,
        "seen": {"least": trouble.least, "most": trouble.most} if has_seen else None,
        "object": _object_document(trouble.about, ages),
    }


def _object_document(about: Seen | None, ages: AgesOf) -> Document | None:
    if about is None:
        return None
    age = ages.get(about, NO_AGES)
    return {
        "kind": about.kind,
        "namespace": about.key.namespace or None,
        "name": about.key.name,
        "ageSeconds": _seconds(age.since_made),
        "changedSecondsAgo": _seconds(age.since_changed),
    }


def _seconds(duration: timedelta | None) -> int | None:
    return None if duration is None else int(duration.total_seconds())


# Tables

Row = tuple[str, ...]
TROUBLES: Row = ("NODES", "CODE", "CLAIM", "WANTED", "SEEN", "OBJECT", "AGE", "WHICH")
CLAIMS: Row = ("CLAIM", "STATE", "CLASS", "SIZE", "VOLUME", "SELECTED NODE")
UNSUITED: Row = ("VOLUMES", "WHY NOT", "EXAMPLE")
EVERYWHERE = "all"


def pod_text(explained: PodExplanation, scheduler: str, policy: str, ages: AgesOf) -> str:
    head = f"Pod {explained.pod.key} ({scheduler}, policy {policy}): {explained.state}"
    parts = [f"{head}\n{explained.message}"]
    if explained.claims:
        parts.append(table(CLAIMS, (_claim_row(claim) for claim in explained.claims)))
    rows = [*_everywhere_rows(explained.everywhere, ages), *_group_rows(explained.groups, ages)]
    if rows:
        parts.append(table(TROUBLES, rows))
    if explained.state is PodState.SCHEDULABLE:
        others = [node for node in explained.fitting if node != explained.best]
        parts.append(f"Would do: {_listed([explained.best, *others])}")
    return "\n\n".join(parts)


def claim_text(explained: ClaimExplanation, pods: Sequence[str], ages: AgesOf) -> str:
    claim = explained.claim
    parts = [f"Claim {claim.key}: {CLAIM_STATES[claim.state]}\n{explained.message}"]
    parts.append(table(CLAIMS, [_claim_row(claim)]))
    if explained.reachable_from is not None:
        parts.append(f"The volume can be reached from {explained.reachable_from} nodes.")
    if explained.troubles:
        parts.append(table(TROUBLES, _everywhere_rows(explained.troubles, ages)))
    if explained.unsuited:
        rows = [(str(u.volumes), u.mismatch.value, u.example) for u in explained.unsuited]
        parts.append(table(UNSUITED, rows))
    return "\n\n".join([*parts, *pods])


def _claim_row(claim: ClaimStanding) -> Row:
    return (
        claim.key.name,
        CLAIM_STATES[claim.state],
        claim.storage_class,
        amount(claim.requested_bytes, Unit.BYTES),
        claim.volume,
        claim.selected_node,
    )


def _everywhere_rows(troubles: Iterable[SharedTrouble], ages: AgesOf) -> Iterator[Row]:
    for trouble in troubles:
        yield (EVERYWHERE, *_trouble_cells(trouble, ages), trouble.sentence)


def _group_rows(groups: Iterable[NodeGroup], ages: AgesOf) -> Iterator[Row]:
    for group in groups:
        count, which = str(len(group.nodes)), _listed(group.nodes)
        for trouble in group.troubles:
            yield (count, *_trouble_cells(trouble, ages), which)
            count, which = "", ""


def _trouble_cells(trouble: SharedTrouble, ages: AgesOf) -> Row:
    return (
        trouble.reason.value,
        trouble.claim.name if trouble.claim else "",
        "" if trouble.wanted is None else amount(trouble.wanted, trouble.unit),
        _range(trouble),
        str(trouble.about) if trouble.about else "",
        _age(ages.get(trouble.about, NO_AGES)) if trouble.about else "",
    )


def _range(trouble: SharedTrouble) -> str:
    if trouble.least is None or trouble.most is None:
        return ""
    least, most = (amount(number, trouble.unit) for number in (trouble.least, trouble.most))
    return most if least == most else f"{least} to {most}"


def amount(number: int, unit: Unit) -> str:
    """As people write it; sizes rounded down to one decimal."""
    if unit is Unit.COUNT:
        return str(number)
    if unit is Unit.MILLI_CPU:
        return f"{number}m" if number % MILLI else str(number // MILLI)
    power = min(max(abs(number).bit_length() - 1, 0) // 10, len(UNITS) - 1)
    tenths = abs(number) * 10 // KIBI**power
    whole = f"{tenths // 10}" if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10}"
    return f"{'-' if number < 0 else ''}{whole}{UNITS[power]}"


def _age(ages: Ages) -> str:
    shown = ages.since_changed if ages.since_changed is not None else ages.since_made
    return "" if shown is None else human(shown)


def human(duration: timedelta) -> str:
    """`45s`, `12m`, `5h`, `3d`."""
    seconds = max(int(duration.total_seconds()), 0)
    for size, letter in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{letter}"
    return f"{seconds}s"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN_NODES])
    left = len(names) - SHOWN_NODES
    return shown if left <= 0 else f"{shown} and {left} more"


def table(head: Row, rows: Iterable[Row]) -> str:
    """Columns that are empty throughout are left out."""
    lines = [head, *rows]
    kept = [i for i in range(len(head)) if any(line[i] for line in lines[1:])]
    widths = {i: max(len(line[i]) for line in lines) for i in kept}
    texts = ("   ".join(line[i].ljust(widths[i]) for i in kept).rstrip() for line in lines)
    return "\n".join(texts)


def seen_in(explained: PodExplanation | ClaimExplanation) -> set[Seen]:
    """The objects that an explanation speaks of."""
    if isinstance(explained, ClaimExplanation):
        own = {t.about for t in explained.troubles if t.about}
        return own.union(*map(seen_in, explained.pods))
    troubles = [*explained.everywhere, *(t for g in explained.groups for t in g.troubles)]
    return {trouble.about for trouble in troubles if trouble.about}


def namespaced(text: str) -> ObjectKey:
    namespace, _, name = text.rpartition("/")
    return ObjectKey(namespace or "default", name)
