"""From which nodes the volumes of bound claims can be reached."""

from collections.abc import Iterable, Iterator

from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.csi.in_tree import TRANSLATED, plugin_of, translated
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.labels import volume_terms
from plimsoll.decide.scheduling.flags import Blocked


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
    migrated = columns.attach.migrated(plugin)
    if not migrated:
        return reached, 0
    try:
        seen = translated(volume)
    except ValueError:
        return reached, migrated
    by_driver = columns.labels.matching(volume_terms(seen.spec.required_nodes))
    return reached & ~migrated | by_driver & migrated, 0
