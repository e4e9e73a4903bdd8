"""Published capacity as a document, as a table and as a tree.

The document is described in docs/reference. On a terminal, short tables are coloured; long ones
and those that are read by another program are plain columns.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import click
from rich.console import Console
from rich.table import Table

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.decide.capacity.findings import Found, find_numbers
from plimsoll.decide.capacity.overview import (
    CapacityEntry,
    Overview,
    PoolEntry,
    pools_of,
    reached,
)
from plimsoll.decide.capacity.tree import CapacityBranch, path_of, selector_text, tree_of
from plimsoll.decide.capacity.volume_sizes import Cost
from plimsoll.decide.explain.amounts import amount
from plimsoll.decide.explain.groups import Unit
from plimsoll.decide.scheduling.rules.volume_binding.charges import ListedCharge
from plimsoll.ui.explain.layout import Row, human, table

API_VERSION = "capacity.plimsoll.dev/v1"
SHORT = 40
"""Rows up to which a table is coloured."""
ENTRIES: Row = (
    "CLASS",
    "SEGMENT",
    "NODES",
    "SIZE",
    "LARGEST",
    "AGE",
    "PUBLISHER",
    "LOOKED",
    "OBJECT",
    "FINDINGS",
)
POOLS: Row = ("POOL", "DRIVER", "FREE", "LARGEST EXTENT", "EXTENTS", "COSTS")
RESERVED: Row = ("RESERVED FOR", "NODE", "POOL", "BYTES", "STATE", "SINCE")
WARNINGS: Row = ("CODE", "OBJECT", "WHAT")
NUMBERS = frozenset(
    {"NODES", "SIZE", "LARGEST", "AGE", "LOOKED", "FREE", "LARGEST EXTENT", "EXTENTS"}
)
EVERYWHERE = "everywhere"
BY_HAND = "by hand"

Codes = Mapping[ObjectKey, Sequence[str]]


# Documents


def document(
    overview: Overview, found: Sequence[Found], reserved: Sequence[ListedCharge] = ()
) -> Document:
    codes = _codes(found)
    return {
        "apiVersion": API_VERSION,
        "kind": "CapacityOverview",
        "objects": [_entry_document(entry, overview, codes) for entry in overview.entries],
        "findings": [
            {
                "code": each.finding.value,
                "object": _key_document(each.about),
                "message": each.sentence,
                "others": [_key_document(other) for other in each.others],
            }
            for each in found
        ],
        "pools": [_pool_document(pool) for pool in pools_of(overview)],
        "reservations": [_reservation_document(each, overview.now) for each in reserved],
    }


def _reservation_document(charge: ListedCharge, now: datetime) -> Document:
    reservation = charge.reservation
    return {
        "claim": _key_document(reservation.claim),
        "storageClass": reservation.storage_class,
        "node": reservation.node,
        "driver": charge.pool.driver or None,
        "pool": charge.pool.name or None,
        "reservedBytes": charge.taken,
        "recorded": reservation.recorded is not None,
        "givenUp": charge.is_given_up,
        "sinceSecondsAgo": _seconds(charge.since, now),
    }


def _pool_document(pool: PoolEntry) -> Document:
    return {
        "driver": pool.driver,
        "name": pool.name,
        "freeBytes": pool.free_bytes,
        "extents": [{"name": name, "freeBytes": free} for name, free in pool.free.items()],
        "costs": [
            {
                "storageClass": name,
                "copies": cost.copies,
                "shares": cost.shares,
                "unitBytes": cost.unit_bytes,
                "overheadBytes": cost.overhead_bytes,
                "minimumVolumeBytes": cost.smallest_bytes,
            }
            for name, cost in sorted(pool.costs.items())
        ],
        "objects": [_key_document(key) for key in pool.objects],
    }


def _entry_document(entry: CapacityEntry, overview: Overview, codes: Codes) -> Document:
    size, largest = find_numbers(entry.capacity) or (None, None)
    return _key_document(entry.capacity.key) | {
        "driver": entry.driver or None,
        "storageClass": entry.capacity.storage_class_name,
        "segment": None if entry.segment is None else dict(entry.segment),
        "path": path_of(entry, overview),
        "nodes": None if entry.nodes is None else sorted(entry.nodes),
        "capacityBytes": size,
        "maximumVolumeBytes": largest,
        "changedSecondsAgo": _seconds(entry.changed_at, overview.now),
        "publisher": _publisher_document(entry, overview.now),
        "template": entry.is_template,
        "findings": list(codes.get(entry.capacity.key, ())),
    }


def _publisher_document(entry: CapacityEntry, now: datetime) -> Document | None:
    if not entry.publisher:
        return None
    fresh, leader = entry.freshness, entry.leader
    return {
        "managedBy": entry.publisher,
        "holder": fresh.holder if fresh else None,
        "lookedSecondsAgo": _seconds(fresh.looked_at, now) if fresh else None,
        "promisedSeconds": int(fresh.lasts.total_seconds()) if fresh else None,
        "unanswered": fresh.unanswered if fresh else None,
        "leaderRenewedSecondsAgo": _seconds(leader.spec.renew_time, now) if leader else None,
    }


def _key_document(key: ObjectKey) -> Document:
    return {"namespace": key.namespace, "name": key.name}


def _seconds(at: datetime | None, now: datetime) -> int | None:
    return None if at is None else int((now - at).total_seconds())


def _codes(found: Iterable[Found]) -> dict[ObjectKey, list[str]]:
    codes: defaultdict[ObjectKey, list[str]] = defaultdict(list)
    for each in found:
        codes[each.about].append(each.finding.value)
    return codes


# For people


def show(overview: Overview, found: Sequence[Found], *, as_tree: bool) -> None:
    """Of an overview with at least one entry."""
    if as_tree:
        click.echo(tree_text(overview, _codes(found)))
    else:
        _show_table(ENTRIES, [_row(entry, overview, _codes(found)) for entry in overview.entries])
    if found:
        click.echo()
        rows = [(each.finding.value, str(each.about), each.sentence) for each in found]
        _show_table(WARNINGS, rows)
    click.echo(f"\n{_summary(overview, found)}")


def show_pools(overview: Overview, reserved: Sequence[ListedCharge]) -> None:
    pools = pools_of(overview)
    if pools:
        _show_table(POOLS, [_pool_row(pool) for pool in pools])
    else:
        click.echo("No pools are published.")
    if reserved:
        click.echo()
        _show_table(RESERVED, [_reserved_row(each, overview.now) for each in reserved])


def _reserved_row(charge: ListedCharge, now: datetime) -> Row:
    reservation = charge.reservation
    return (
        str(reservation.claim),
        reservation.node,
        charge.pool.name,
        _size(charge.taken),
        _stage(charge),
        human(now - charge.since) if charge.since else "",
    )


def _stage(charge: ListedCharge) -> str:
    if charge.is_given_up:
        return "given up"
    return "recorded" if charge.reservation.recorded is not None else "decided"


def _pool_row(pool: PoolEntry) -> Row:
    costs = (f"{name}: {_cost_text(cost)}" for name, cost in sorted(pool.costs.items()))
    return (
        pool.name,
        pool.driver,
        _size(pool.free_bytes),
        _size(max(pool.free.values(), default=0)),
        str(len(pool.free)),
        ", ".join(costs),
    )


def _cost_text(cost: Cost) -> str:
    """What a volume takes: `1x`, `2x on 2 extents`."""
    spread = f" on {cost.shares} extents" if cost.shares > 1 else ""
    return f"{cost.copies}x{spread}"


def _summary(overview: Overview, found: Sequence[Found]) -> str:
    objects, nodes = len(overview.entries), len(reached(overview.entries))
    classes = len({entry.capacity.storage_class_name for entry in overview.entries})
    troubled = len({each.about for each in found})
    wrong = f"something wrong with {troubled}" if troubled else "nothing wrong"
    return f"Objects: {objects}, {wrong}; classes: {classes}; nodes: {nodes}."


def _show_table(head: Row, rows: Sequence[Row]) -> None:
    if len(rows) > SHORT or not sys.stdout.isatty():
        click.echo(table(head, rows))
        return
    kept = [i for i in range(len(head)) if any(row[i] for row in rows)]
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for i in kept:
        style = "yellow" if head[i] in ("FINDINGS", "CODE") else ""
        shown.add_column(
            head[i], style=style, justify="right" if head[i] in NUMBERS else "left", overflow="fold"
        )
    for row in rows:
        # Names and sentences are not markup, even with brackets in them.
        shown.add_row(*(row[i].replace("[", r"\[") for i in kept))
    Console(highlight=False).print(shown)


def _row(entry: CapacityEntry, overview: Overview, codes: Codes) -> Row:
    size, largest = find_numbers(entry.capacity) or (None, None)
    fresh, now = entry.freshness, overview.now
    return (
        entry.capacity.storage_class_name,
        segment_text(entry),
        "?" if entry.nodes is None else str(len(entry.nodes)),
        _size(size),
        _size(largest),
        human(now - entry.changed_at) if entry.changed_at else "",
        entry.publisher or BY_HAND,
        human(now - fresh.looked_at) if fresh else "",
        str(entry.capacity.key),
        ", ".join(codes.get(entry.capacity.key, ())),
    )


def segment_text(entry: CapacityEntry) -> str:
    if entry.segment is None:
        return selector_text(entry)
    return ",".join(f"{key}={value}" for key, value in entry.segment) or EVERYWHERE


def _size(number: int | None) -> str:
    return "" if number is None else amount(number, Unit.BYTES)


def tree_text(overview: Overview, codes: Codes) -> str:
    def leaf(entry: CapacityEntry) -> str:
        return _leaf(_row(entry, overview, codes))

    root = tree_of(overview)
    trunk = CapacityBranch(EVERYWHERE, root.entries, ())
    branches = [trunk, *root.branches] if trunk.entries else root.branches
    return "\n".join(line for branch in branches for line in _grown(branch, leaf, ""))


def _grown(
    branch: CapacityBranch, leaf: Callable[[CapacityEntry], str], margin: str
) -> Iterator[str]:
    yield f"{margin}{branch.name}"
    inner = f"{margin}  "
    yield from (f"{inner}- {leaf(entry)}" for entry in branch.entries)
    for each in branch.branches:
        yield from _grown(each, leaf, inner)


def _leaf(row: Row) -> str:
    cells = dict(zip(ENTRIES, row, strict=True))
    words = [cells["CLASS"], cells["SIZE"] or "no size"]
    words += [f"largest {cells['LARGEST']}"] if cells["LARGEST"] else []
    words += [f"for {cells['AGE']}"] if cells["AGE"] else []
    words.append(cells["PUBLISHER"])
    words += [f"looked {cells['LOOKED']} ago"] if cells["LOOKED"] else []
    words += [cells["FINDINGS"]] if cells["FINDINGS"] else []
    return ", ".join(words)
