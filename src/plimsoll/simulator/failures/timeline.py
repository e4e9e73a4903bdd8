"""Tells people what each process saw and did, from the lines of a trace.

Heartbeats and election renewals are left out, and equal lines are told once with their number. What
happened before the scenario began and after the last violation is counted only, and of many equal
violations the first ones are told. Of a timeline that is still long, only that is told which people
need: what users did, what went wrong, warnings, changes of leaders, and every line about an object
that a violation names. `…` stands where lines were left out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from plimsoll.simulator.failures.wording import is_request, reworded, with_name_of, written_object

HEARTBEATS = re.compile(
    r"^(?:PATCH|PUT|POST) (?:\S+/leases(?:/\S+)?|/api/v1/nodes/[^/\s]+/status|\S+/events(?:/\S+)?)"
    r" -> 20\d$|^\[info\] write made write=\w+ (?:leases\.|events|nodes/status=)"
)
NAMES = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
VIOLATION = "violation"
OUTSIDE = frozenset({"user", "fault", VIOLATION, "simulation"})
"""Lines that no process of the cluster wrote."""
TELLING = re.compile(
    r"^\[(?:warning|error|critical)\]|ready at revision|\bleader|process (?:ended|cut|started)"
)
MANY_LINES = 400
SHORTEST_NAME = 4
EQUAL_VIOLATIONS = 3


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
        mark = "!!" if self.process == VIOLATION else ">>" if self.is_about else "  "
        times = f"  (x{self.times})" if self.times > 1 else ""
        return f"{int(minutes):3d}:{rest:06.3f} {mark} {self.process:<24} {self.what}{times}"

    @property
    def invariant(self) -> str:
        """The one that it violates; empty: none."""
        return self.what.partition(": ")[0] if self.process == VIOLATION else ""


def parse_moment(line: str) -> Moment:
    """A line of a trace: time, process, and what it did."""
    at, _, rest = line.strip().partition(" ")
    process, _, what = rest.partition(": ")
    return Moment(at=float(at), process=process, what=what)


def timeline(lines: Iterable[str], *, most: int = MANY_LINES) -> list[str]:
    """`most` is from how many lines on only those are told that matter; 0: all are told, as they
    are in the trace."""
    moments = [each for line in lines if not HEARTBEATS.match((each := parse_moment(line)).what)]
    names = names_in(each.what for each in _first_violations(moments))
    marked = [replace(each, is_about=_mentions(each, names)) for each in moments]
    if not most:
        return [str(each) for each in _grouped(marked)]
    before, told, after = _cut_out(marked)
    grouped = list(_grouped(_readable(told)))
    is_long = len(grouped) > most
    matters = [_matters(each) for each in grouped] if is_long else [True] * len(grouped)
    return [*_left_out(before), *_told(grouped, matters), *_left_out(after)]


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


def _first_violations(moments: Sequence[Moment]) -> list[Moment]:
    """Of each invariant."""
    seen: Counter[str] = Counter()
    first: list[Moment] = []
    for each in moments:
        seen[each.invariant] += 1
        if each.invariant and seen[each.invariant] <= EQUAL_VIOLATIONS:
            first.append(each)
    return first


def _mentions(moment: Moment, names: frozenset[str]) -> bool:
    if moment.process == VIOLATION or not names:
        return False
    return not names.isdisjoint(NAMES.findall(moment.what))


def _readable(moments: Sequence[Moment]) -> Iterator[Moment]:
    """Each write once: its request, with the name of what was created, and not its log line."""
    kept: list[Moment] = []
    last: dict[str, int] = {}
    """The place of the last line of each process."""
    for each in moments:
        place = last.get(each.process)
        if place is not None and (name := written_object(each.what)):
            request = kept[place]
            if is_request(request.what):
                about = request.is_about or each.is_about
                what = with_name_of(request.what, name)
                kept[place] = replace(request, what=what, is_about=about)
                continue
        last[each.process] = len(kept)
        kept.append(each)
    return (replace(each, what=reworded(each.what)) for each in kept)


def _cut_out(moments: list[Moment]) -> tuple[int, list[Moment], int]:
    """From when the scenario began to the last violation; how many are before, and after."""
    violations = [place for place, each in enumerate(moments) if each.process == VIOLATION]
    events = [
        place
        for place, each in enumerate(moments)
        if each.process == "fault" or (each.process == "user" and not is_request(each.what))
    ]
    begin = min(events[:1] + violations[:1], default=0)
    end = violations[-1] + 1 if violations else len(moments)
    told = moments[begin:end]
    first = {id(each) for each in _first_violations(told)}
    kept = [each for each in told if each.process != VIOLATION or id(each) in first]
    return begin, kept, len(moments) - end + len(told) - len(kept)


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
        yield from _left_out(left_out)
        left_out = 0
        yield str(moment)
    yield from _left_out(left_out)


def _left_out(number: int) -> Iterator[str]:
    if number:
        yield f"{'…':>10} {number} more"
