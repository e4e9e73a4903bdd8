"""Tells people what each process saw and did, from the lines of a trace.

Heartbeats and election renewals are left out, and equal lines are told once with their number. A
long timeline keeps what people need: what users did, what went wrong, warnings, changes of leaders,
and every line about an object that a violation names; `…` stands where lines were left out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

HEARTBEATS = re.compile(
    r"^(?:PATCH|PUT|POST) (?:\S+/leases(?:/\S+)?|/api/v1/nodes/[^/\s]+/status|\S+/events(?:/\S+)?)"
    r" -> 20\d$"
)
NAMES = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
OUTSIDE = frozenset({"user", "fault", "violation", "simulation"})
"""Lines that no process of the cluster wrote."""
TELLING = re.compile(
    r"^\[(?:warning|error|critical)\]|ready at revision|\bleader|process (?:ended|cut|started)"
)
MANY_LINES = 400
SHORTEST_NAME = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    at: float
    process: str
    what: str
    times: int = 1
    is_about: bool = False
    """About an object that a violation names."""

    def __str__(self) -> str:
        minutes, rest = divmod(self.at, 60)
        mark = "!!" if self.process == "violation" else ">>" if self.is_about else "  "
        times = f"  (x{self.times})" if self.times > 1 else ""
        return f"{int(minutes):3d}:{rest:06.3f} {mark} {self.process:<24} {self.what}{times}"


def parse_moment(line: str) -> Moment:
    """A line of a trace: time, process, and what it did."""
    at, _, rest = line.strip().partition(" ")
    process, _, what = rest.partition(": ")
    return Moment(at=float(at), process=process, what=what)


def timeline(lines: Iterable[str], *, most: int = MANY_LINES) -> list[str]:
    """`most` is from how many lines on only those are told that matter; 0: all are told."""
    moments = [parse_moment(line) for line in lines]
    names = names_in(each.what for each in moments if each.process == "violation")
    marked = [replace(each, is_about=_mentions(each, names)) for each in moments]
    grouped = list(_grouped(each for each in marked if not HEARTBEATS.match(each.what)))
    if not most or len(grouped) <= most:
        return [str(each) for each in grouped]
    return list(_told(grouped, [_matters(each) for each in grouped]))


def names_in(messages: Iterable[str]) -> frozenset[str]:
    """Of objects: words with a digit in them, such as `web-0` or `pvc-…`."""
    found = (word for message in messages for word in NAMES.findall(message.partition(": ")[2]))
    return frozenset(
        word
        for word in found
        if len(word) >= SHORTEST_NAME
        and any(letter.isdigit() for letter in word)
        and not word.replace(".", "").isdigit()
    )


def _mentions(moment: Moment, names: frozenset[str]) -> bool:
    if moment.process == "violation" or not names:
        return False
    return not names.isdisjoint(NAMES.findall(moment.what))


def _grouped(moments: Iterable[Moment]) -> Iterator[Moment]:
    last: Moment | None = None
    for each in moments:
        if last is not None and (each.process, each.what) == (last.process, last.what):
            last = replace(last, times=last.times + 1)
            continue
        if last is not None:
            yield last
        last = each
    if last is not None:
        yield last


def _matters(moment: Moment) -> bool:
    return moment.is_about or moment.process in OUTSIDE or TELLING.search(moment.what) is not None


def _told(moments: Sequence[Moment], matters: Sequence[bool]) -> Iterator[str]:
    """What matters; for the rest, how much was left out."""
    left_out = 0
    for moment, is_told in zip(moments, matters, strict=True):
        if not is_told:
            left_out += 1
            continue
        if left_out:
            yield f"{'…':>10} {left_out} more"
            left_out = 0
        yield str(moment)
    if left_out:
        yield f"{'…':>10} {left_out} more"
