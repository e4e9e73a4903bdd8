"""What a report consists of, whatever it is written as: tables, and curves over virtual time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto
from math import ceil

from plimsoll.decide.explain.amounts import amount
from plimsoll.decide.explain.groups import Unit
from plimsoll.runtime.config import written_duration

Cells = tuple[str, ...]
Write = Callable[[float], str]
TENTH = 10.0
MINUTE = 60.0


class Tone(Enum):
    """How a reader should take a report, or a line of it."""

    GOOD = auto()
    BAD = auto()


class CurveStyle(Enum):
    LINES = auto()
    STACKED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportTable:
    title: str
    head: Cells
    rows: tuple[Cells, ...]
    numbers: frozenset[str] = frozenset()
    """Columns that are aligned to the right."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    name: str
    values: tuple[float, ...]
    """At the times of its chart."""
    shadow: tuple[float, ...] = ()
    """What was believed of the same thing; drawn dashed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveChart:
    title: str
    note: str
    times: tuple[float, ...]
    curves: tuple[Curve, ...]
    style: CurveStyle = CurveStyle.LINES
    write: Write = lambda value: f"{value:.0f}"
    is_binary: bool = False
    """Whether its axis counts in powers of 1024."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarChart:
    title: str
    note: str
    bars: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultSpan:
    """When something was wrong, for the background of charts."""

    begin: float
    end: float
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationReport:
    title: str
    tone: Tone
    verdict: str
    """One sentence."""
    facts: tuple[tuple[str, str], ...]
    """The numbers that matter most, each with its name."""
    tables: tuple[ReportTable, ...]
    charts: tuple[CurveChart | BarChart, ...]
    faults: tuple[FaultSpan, ...]


def span(seconds: float) -> str:
    """`350ms`, `4.2s`, `12s`, `3m20s`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms" if seconds else "0s"
    if seconds < TENTH:
        return f"{seconds:.1f}s".replace(".0s", "s")
    return written_duration(timedelta(seconds=round(seconds)))


def size(number: float) -> str:
    return amount(int(number), Unit.BYTES)


def quantile(ordered: Sequence[float], part: float) -> float:
    """Of numbers in ascending order; the lowest that at least such a part does not exceed."""
    return ordered[max(0, ceil(len(ordered) * part) - 1)]
