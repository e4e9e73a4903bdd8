"""From which nodes the volumes of bound claims can be reached."""

from collections.abc import Iterable, Iterator

from plimsoll.api.core import Node
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.claims.match import is_reachable
from plimsoll.decide.csi.in_tree import TRANSLATED, plugin_of, seen_from_node, translated
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.labels import volume_terms
from plimsoll.decide.scheduling.flags import Blocked
from plimsoll.decide.scheduling.reasons import (
    Finding,
    Reason,
    Sentence,
    Undecided,
    failed,
    seen_volume,
)
from plimsoll.decide.scheduling.view import ClusterView


def find_bound_conflict(
    claims: Iterable[PersistentVolumeClaim], node: Node, view: ClusterView
) -> Finding | None:
    """The first claim whose volume is gone or cannot be reached from the node. Raises Undecided
    where the node's drivers could not make sense of the volume."""
    findings = (judge_bound(claim, node, view) for claim in claims)
    return next((finding for finding in findings if finding), None)


def judge_bound(claim: PersistentVolumeClaim, node: Node, view: ClusterView) -> Finding | None:
    name = claim.spec.volume_name
    volume = view.volume(name)
    if volume is None:
        reason, sentence = Reason.VOLUME_NOT_FOUND, Sentence.VOLUME_MISSING
    elif _is_reachable(volume, node, view):
        return None
    else:
        reason, sentence = Reason.VOLUME_AFFINITY_CONFLICT, Sentence.VOLUME_AFFINITY
    return Finding(reason=reason, sentence=sentence, claim=claim.key, about=seen_volume(name))


def _is_reachable(volume: PersistentVolume, node: Node, view: ClusterView) -> bool:
    try:
        seen = seen_from_node(volume, view.csi_node(node.name))
    except ValueError as error:
        finding = Finding(
            reason=Reason.VOLUME_NOT_TRANSLATABLE,
            sentence=f"could not translate pv: {error}",
            about=seen_volume(volume.name),
        )
        raise Undecided(failed(finding)) from error
    return is_reachable(seen, node.labels)


# All nodes at once


def blocked(
    claims: Iterable[PersistentVolumeClaim], columns: Columns
) -> Iterator[tuple[Blocked, int]]:
    """Nodes, as bits, by the first of the claims that does not do there."""
    left = columns.index.alive
    for claim in claims:
        volume = columns.volume(claim.spec.volume_name)
        if volume is None:
            yield Blocked.BOUND_MISSING, left
            return
        reached, unreadable = _reach(volume, columns)
        if left & unreadable:
            yield Blocked.BOUND_UNREADABLE, left & unreadable
            left &= ~unreadable
        if left & ~reached:
            yield Blocked.BOUND_AFFINITY, left & ~reached
            left &= reached


def _reach(volume: PersistentVolume, columns: Columns) -> tuple[int, int]:
    """The nodes that reach the volume, and those whose drivers cannot make sense of it."""
    reached = columns.labels.matching(volume_terms(volume.spec.required_nodes))
    plugin = plugin_of(volume.spec)
    if plugin is None or plugin not in TRANSLATED:
        return reached, 0
    migrated = columns.attach.migrated.get(plugin, 0)
    if not migrated:
        return reached, 0
    try:
        seen = translated(volume)
    except ValueError:
        return reached, migrated
    by_driver = columns.labels.matching(volume_terms(seen.spec.required_nodes))
    return reached & ~migrated | by_driver & migrated, 0
