"""What is told of a suite that has run: how many tests passed, and why others did not run."""

from collections.abc import Iterator

from conformance.suites.run import SuiteOutcome
from conformance.suites.subject import LeftOut


def report(name: str, outcome: SuiteOutcome, left_out: LeftOut) -> Iterator[str]:
    yield (
        f"{name}: {len(outcome.passed)} passed, {len(outcome.failed)} failed,"
        f" {len(outcome.unfinished)} did not end, {len(outcome.skipped)} skipped"
    )
    for test in (*outcome.failed, *outcome.unfinished):
        yield f"  not passed: {test}"
    for test, why in outcome.skipped.items():
        yield f"  skipped: {test}{f': {why}' if why else ''}"
    for pattern, why in left_out.items():
        yield f"  left out: {pattern}: {why}"
