"""What came of many seeds, as counts and as sentences."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from plimsoll.simulator.failures.timeline import EQUAL_VIOLATIONS
from plimsoll.simulator.run import RunVerdict
from tools.sim.workers import Crash, Outcome


@dataclass(slots=True)
class Tally:
    seeds: list[int] = field(default_factory=list)
    """In the order in which they ended."""
    virtual_seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    takeovers: int = 0
    """Seeds in which a zone is lost and taken over."""
    violations: int = 0
    known: int = 0
    crashes: int = 0
    failing: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        self.seeds.append(outcome.seed)
        if isinstance(outcome, Crash):
            self.crashes += 1
            self.failing.append(outcome)
            return
        self.virtual_seconds += outcome.virtual_seconds
        self.faults.update(outcome.faults)
        self.takeovers += outcome.takes_over
        self.known += len(outcome.violations) - len(outcome.unknown)
        self.violations += len(outcome.unknown)
        if outcome.unknown:
            self.failing.append(outcome)

    def __str__(self) -> str:
        """`100 seeds (30 with takeovers), 23.4 virtual hours, 612 faults (cut 201, …), 0 violations
        (3 known)`."""
        hours = self.virtual_seconds / 3600
        kinds = ", ".join(f"{kind} {number}" for kind, number in self.faults.most_common())
        crashed = f", {_counted(self.crashes, 'run')} without a verdict" if self.crashes else ""
        return (
            f"{_counted(len(self.seeds), 'seed')} ({self.takeovers} with takeovers), "
            f"{hours:.1f} virtual hours, "
            f"{_counted(self.faults.total(), 'fault')} ({kinds or 'none'}), "
            f"{_counted(self.violations, 'violation')} ({self.known} known){crashed}"
        )

    @property
    def first_failing(self) -> Outcome | None:
        return min(self.failing, key=lambda each: each.seed, default=None)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def ranges(seeds: Iterable[int]) -> str:
    """`seeds 1-7, 9`."""
    found: list[list[int]] = []
    for seed in sorted(seeds):
        if found and found[-1][-1] == seed - 1:
            found[-1] = [found[-1][0], seed]
        else:
            found.append([seed])
    return f"seeds {', '.join('-'.join(map(str, each)) for each in found)}" if found else "no seeds"


def told(outcome: Outcome) -> str:
    """Why a seed fails: of each invariant, the first violations."""
    if isinstance(outcome, Crash):
        return f"seed {outcome.seed}: {outcome.kind}\n{outcome.message.rstrip()}"
    seen: Counter[str] = Counter()
    lines: list[str] = []
    for each in outcome.unknown:
        seen[each.invariant] += 1
        if seen[each.invariant] <= EQUAL_VIOLATIONS:
            lines.append(f"seed {outcome.seed}: {each}")
    more = {name: number - EQUAL_VIOLATIONS for name, number in seen.items()}
    lines += [f"seed {outcome.seed}: {name}: {n:,} more" for name, n in more.items() if n > 0]
    return "\n".join(lines)


def signature(outcome: Outcome) -> frozenset[str]:
    """What fails, without where and when: a shrunk scenario has to fail in one of these ways."""
    if isinstance(outcome, Crash):
        return frozenset({f"crash {outcome.kind}"})
    return frozenset(str(each.invariant) for each in outcome.unknown)


def is_failing(outcome: Outcome) -> bool:
    return not isinstance(outcome, RunVerdict) or bool(outcome.unknown)
