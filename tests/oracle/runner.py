"""Reads cases, asks our code, and tells how it did."""

import gzip
import json
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.oracle.answers import ORACLES, Oracle

HERE = Path(__file__).parent
# Here the real program crashes, or does what we do not want to copy.
NOT_COMPARED = frozenset({"upstream-panic", "upstream-quirk-empty-segment-churn"})

Case = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    case: Case
    actual: Any

    def __str__(self) -> str:
        shown = {
            "case": self.case.get("id", "without an id"),
            "input": self.case["input"],
            "expected": self.case["expect"],
            "actual": self.actual,
        }
        return "\n".join(
            f"  {name:8} {json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)}"
            for name, value in shown.items()
        )


@dataclass(slots=True)
class Tally:
    """How one oracle did."""

    passed: int = 0
    not_compared: int = 0
    not_yet: int = 0
    conversations: int = 0
    differences: list[Difference] = field(default_factory=list)

    @property
    def failed(self) -> int:
        return len(self.differences)

    def __str__(self) -> str:
        if self.conversations:
            return f"{self.conversations} conversations, replayed by tests.conversations"
        if self.not_yet:
            return f"not yet ({self.not_yet} cases)"
        rest = f", {self.not_compared} not compared" if self.not_compared else ""
        return f"{self.passed} passed, {self.failed} failed{rest}"


def case_files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted((*path.glob("*.jsonl"), *path.glob("*.jsonl.gz")))
        else:
            yield path


def oracle_name(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def read_cases(path: Path) -> Iterator[Case]:
    packed = path.read_bytes()
    text = gzip.decompress(packed) if path.suffix == ".gz" else packed
    for line in text.splitlines():
        if line.strip():
            yield json.loads(line)


def run(path: Path, tallies: dict[str, Tally]) -> None:
    """Add the outcome of one file to the tallies, which are by oracle."""
    for case in read_cases(path):
        name = case.get("oracle", oracle_name(path))
        tally = tallies.setdefault(name, Tally())
        if "steps" in case and "input" not in case:
            tally.conversations += 1
        elif name not in ORACLES:
            tally.not_yet += 1
        elif NOT_COMPARED.intersection(case.get("tags") or ()):
            tally.not_compared += 1
        elif difference := _difference(ORACLES[name], case):
            tally.differences.append(difference)
        else:
            tally.passed += 1


def _difference(oracle: Oracle, case: Case) -> Difference | None:
    try:
        actual = oracle.answer(case["input"])
    except Exception:  # noqa: BLE001  one case that crashes must not hide the others
        return Difference(case, {"raised": traceback.format_exc()})
    return None if oracle.agrees(case["expect"], actual) else Difference(case, actual)


def report(paths: Iterable[Path], max_diffs: int) -> int:
    """Print the outcome; 1 if anything differs."""
    tallies: dict[str, Tally] = {}
    for path in case_files(paths):
        run(path, tallies)
    for name, tally in tallies.items():
        print(f"{name}: {tally}")
        for difference in tally.differences[:max_diffs]:
            print(difference)
    failed = sum(tally.failed for tally in tallies.values())
    print(f"{sum(tally.passed for tally in tallies.values())} passed, {failed} failed")
    return 1 if failed else 0
