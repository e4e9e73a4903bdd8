"""One number with what is needed to judge it, and how numbers are shown."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    name: str
    value: float
    unit: str
    better: str
    """`higher` or `lower`; empty where the number is only there to judge the others by."""
    p50_ms: float | None = None
    p99_ms: float | None = None
    server_cpu_ms: float | None = None
    """Processor time of the server per operation: steadier than the clock on a shared machine."""

    def as_json(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value is not None}


def find_ratio(ours: Measurement, theirs: Measurement) -> float | None:
    """How many times better ours is; below 1 it is worse."""
    if not ours.better:
        return None
    if ours.better == "higher":
        return ours.value / theirs.value if theirs.value else float("inf")
    return theirs.value / ours.value if ours.value else float("inf")


def table(measurements: Iterable[Measurement]) -> Iterator[str]:
    yield (
        f"{'measurement':<44} {'value':>12} {'unit':<10} {'p50 ms':>8} {'p99 ms':>8} {'cpu ms':>8}"
    )
    for each in measurements:
        yield (
            f"{each.name:<44} {each.value:>12,.1f} {each.unit:<10} "
            f"{_cell(each.p50_ms):>8} {_cell(each.p99_ms):>8} {_cell(each.server_cpu_ms):>8}"
        )


def comparison(ours: Iterable[Measurement], theirs: Iterable[Measurement]) -> Iterator[str]:
    """Both side by side; the last column says how many times better ours is."""
    by_name = {each.name: each for each in theirs}
    yield (
        f"{'measurement':<44} {'plimsoll':>12} {'kube-apiserver':>14} {'unit':<10} {'better by':>9}"
        f" {'cpu ms':>8} {'cpu ms':>8}"
    )
    for each in ours:
        other = by_name.get(each.name)
        if other is None:
            continue
        yield (
            f"{each.name:<44} {each.value:>12,.1f} {other.value:>14,.1f} {each.unit:<10} "
            f"{_times(find_ratio(each, other)):>9} {_cell(each.server_cpu_ms):>8} "
            f"{_cell(other.server_cpu_ms):>8}"
        )


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}x"


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
