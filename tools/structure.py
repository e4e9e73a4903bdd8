"""Measures how the source tree is built: `python -m tools.structure [--journeys]`.

It prints the folders with many modules, public class names that mean more than one thing, and the
sizes of modules and functions. With `--journeys` it also runs two journeys under a profiler: one
pod and its claim from creation to a running pod in a cluster inside one event loop, and one
decision of the scheduling kernel. It counts the modules that they enter and the calls that cross
from one module of Plimsoll into another.
"""

import argparse
import ast
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from plimsoll.simulator.engine.loop import run_virtually
from tests.journeys import a_pod_with_a_claim_until_it_runs, kernel_with_three_nodes

PACKAGE = Path(__file__).parents[1] / "src" / "plimsoll"
MANY_MODULES = 15
GENERATED = "gen"


def modules() -> list[Path]:
    """Every module of Plimsoll that was written by hand."""
    return sorted(path for path in PACKAGE.rglob("*.py") if GENERATED not in path.parts)


def crowded_folders(limit: int = MANY_MODULES) -> dict[str, int]:
    """Folders with more modules than the limit, with their numbers; `__init__` does not count."""
    by_folder: dict[str, int] = defaultdict(int)
    for path in modules():
        if path.name != "__init__.py":
            by_folder[str(path.parent.relative_to(PACKAGE))] += 1
    return {folder: number for folder, number in by_folder.items() if number > limit}


def ambiguous_classes() -> dict[str, list[str]]:
    """Public class names that more than one module defines, with those modules."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in modules():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(str(path.relative_to(PACKAGE)))
    return {name: places for name, places in sorted(found.items()) if len(places) > 1}


def public_classes() -> int:
    return sum(
        isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        for path in modules()
        for node in ast.parse(path.read_text()).body
    )


def module_lines() -> list[int]:
    return [len(path.read_text().splitlines()) for path in modules()]


def function_lines() -> list[int]:
    return [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


@dataclass
class Journey:
    """What a profiler saw: calls between Plimsoll's own functions."""

    modules: set[str] = field(default_factory=set)
    calls: int = 0
    borders: int = 0
    """Calls whose caller is in another module of Plimsoll."""

    def seen(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call":
            return
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("plimsoll."):
            return
        self.modules.add(module)
        self.calls += 1
        caller = frame.f_back.f_globals.get("__name__", "") if frame.f_back else ""
        self.borders += caller.startswith("plimsoll.") and caller != module

    def by_package(self) -> list[tuple[str, int]]:
        """How many of the modules each package has, most first."""
        return Counter(module.split(".")[1] for module in self.modules).most_common()


async def journey_of_a_pod() -> Journey:
    """A claim and a pod until the pod runs: API server, controller, scheduler, provisioner, driver
    and node in one event loop."""
    journey = Journey()
    try:
        await a_pod_with_a_claim_until_it_runs(lambda: sys.setprofile(journey.seen))
    finally:
        sys.setprofile(None)
    return journey


def journey_of_a_decision() -> Journey:
    """One pod with one claim and three nodes."""
    decide = kernel_with_three_nodes()
    journey = Journey()
    sys.setprofile(journey.seen)
    try:
        decide()
    finally:
        sys.setprofile(None)
    return journey


def report(*, journeys: bool) -> Iterator[str]:
    lines, functions = module_lines(), function_lines()
    yield f"modules: {len(lines)}, {sum(lines)} lines, median {statistics.median(lines):.0f}"
    yield f"functions: {len(functions)}, median {statistics.median(functions):.0f} lines"
    crowded = crowded_folders()
    yield f"folders with more than {MANY_MODULES} modules: {len(crowded)}"
    yield from (f"  {folder}: {number}" for folder, number in crowded.items())
    ambiguous = ambiguous_classes()
    yield f"public class names with several meanings: {len(ambiguous)} of {public_classes()}"
    yield from (f"  {name}: {len(places)}" for name, places in ambiguous.items())
    if journeys:
        pod, decision = run_virtually(lambda _loop: journey_of_a_pod()), journey_of_a_decision()
        yield f"a claim and a pod until Running: {len(pod.modules)} modules"
        yield from (f"  {package}: {number}" for package, number in pod.by_package())
        yield (
            f"a decision of the kernel: {decision.borders} borders between modules "
            f"in {decision.calls} calls, {len(decision.modules)} modules"
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.structure", description=__doc__)
    parser.add_argument("--journeys", action="store_true", help="also run the two journeys")
    for line in report(journeys=parser.parse_args().journeys):
        print(line)


if __name__ == "__main__":
    main()
