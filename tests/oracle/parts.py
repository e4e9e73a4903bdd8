"""Compares one part of the answers of `filter_score`, such as `plugins.NodePorts`,
`result.feasible` or `scores.*.normalized.ImageLocality`; a star stands for every name.

    python -m tests.oracle.parts plugins.NodePorts --max-diffs 5
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.oracle import node_rule_cases, runner
from tests.oracle.comparison import agrees

ABSENT = "absent"


def part_of(answer: Any, path: list[str]) -> Any:
    if not path:
        return answer
    if not isinstance(answer, dict):
        return ABSENT
    name, *rest = path
    if name == "*":
        return {each: part_of(value, rest) for each, value in answer.items()}
    return part_of(answer[name], rest) if name in answer else ABSENT


def differences(case: runner.Case, part: str) -> Iterator[str]:
    feasible = case["expect"]["result"].get("feasible", []) if part.startswith("score") else None
    actual = node_rule_cases.answers(case["input"], feasible)
    for way, pair in node_rule_cases.compared(case["expect"], actual).items():
        expected, answered = (part_of(each, part.split(".")) for each in pair)
        if not agrees(expected, answered):
            yield "\n".join(
                (
                    f"{case['id']} {case.get('tags')}, {way}",
                    f"  expected {json.dumps(expected, sort_keys=True)}",
                    f"  actual   {json.dumps(answered, sort_keys=True)}",
                )
            )


def report(part: str, cases: Iterable[runner.Case], max_diffs: int) -> int:
    """How many cases differ."""
    found = [list(differences(case, part)) for case in cases]
    for text in [text for texts in found for text in texts][:max_diffs]:
        print(text)
    failed = sum(map(bool, found))
    print(f"{part}: {len(found) - failed} cases agree, {failed} differ")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.parts", description=__doc__)
    parser.add_argument("parts", nargs="*", default=["*"])
    parser.add_argument("--file", type=Path, default=runner.HERE / "filter_score.jsonl.gz")
    parser.add_argument("--tag", help="only cases with this tag")
    parser.add_argument("--max-diffs", type=int, default=3)
    arguments = parser.parse_args()
    cases = [
        case
        for case in runner.read_cases(arguments.file)
        if arguments.tag is None or arguments.tag in (case.get("tags") or ())
    ]
    failed = [report(part, cases, arguments.max_diffs) for part in arguments.parts]
    return 1 if any(failed) else 0


if __name__ == "__main__":
    sys.exit(main())
