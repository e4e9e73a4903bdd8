"""Which extents of the group a volume gets: those of the physical volumes in its record.

Left to itself, lvm2 chooses the physical volumes. Free capacity is counted by physical volume, so
the counts of other volumes would then be wrong.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from plimsoll.processes.driver.backends.lvm.report import PhysicalVolume, ReportedGroup, Span


class OutOfExtentsError(Exception):
    """The group has too few free extents where they are wanted."""


def chosen_ranges(group: ReportedGroup, wanted: Mapping[str, int]) -> tuple[str, ...]:
    """`device:first-last:…` for each physical volume, with the wanted number of extents of each.

    Raises OutOfExtentsError.
    """
    by_uuid = {volume.uuid: volume for volume in group.physical_volumes}
    ranges: list[str] = []
    for uuid, count in sorted(wanted.items()):
        volume = by_uuid.get(uuid)
        if volume is None:
            raise OutOfExtentsError(f'group "{group.name}" has no physical volume {uuid} any more')
        if count > volume.free_count:
            raise OutOfExtentsError(
                f"{volume.device} has {volume.free_count} free extents where {count} were promised"
            )
        if count > 0:
            ranges.append(_written(volume, _taken(volume.free, count)))
    return tuple(ranges)


def _taken(free: Sequence[Span], count: int) -> list[Span]:
    """The smallest hole that holds all of it, else the largest ones: few, long pieces."""
    fitting = [span for span in free if span.count >= count]
    if fitting:
        best = min(fitting, key=lambda span: (span.count, span.start))
        return [Span(best.start, count)]
    taken: list[Span] = []
    for span in sorted(free, key=lambda span: (-span.count, span.start)):
        if count == 0:
            break
        taken.append(Span(span.start, min(span.count, count)))
        count -= taken[-1].count
    return taken


def _written(volume: PhysicalVolume, spans: Iterable[Span]) -> str:
    pieces = [f"{span.start}-{span.start + span.count - 1}" for span in sorted(spans)]
    return ":".join([volume.device, *pieces])


def outstanding(
    promised: Mapping[str, int], held: Iterable[Mapping[str, int]], *, extent_bytes: int
) -> dict[str, int]:
    """Bytes by physical volume that are promised and not taken yet.

    Never more than is missing in sum: volumes that an administrator moved (pvmove) are missed on
    one physical volume and lie on another.
    """
    taken: Counter[str] = Counter()
    for by_uuid in held:
        taken.update({uuid: count * extent_bytes for uuid, count in by_uuid.items()})
    missing = max(0, sum(promised.values()) - taken.total())
    return {uuid: min(missing, max(0, size - taken[uuid])) for uuid, size in promised.items()}
