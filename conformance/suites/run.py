"""Runs a suite that was built, and counts what its tests said.

A test counts under its own name and not under those of the tests that it is made of. One that a
scheduler or a server in a process of its own cannot pass is skipped by the shim, which says why;
those that a table leaves out are named with their reason.
"""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from conformance import peers
from conformance.suites.build import SuiteProgram
from conformance.suites.subject import LeftOut

ENDED = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+) \(")
STARTED = re.compile(r"^=== RUN\s+(\S+)$")
NAMED = re.compile(r"^=== (?:RUN|CONT|NAME)\s+(\S+)$")
"""Whose words follow."""
WHY_SKIPPED = re.compile(
    r"(?:not for a (?:scheduler|server) in a process of its own|refused by name): (.*)"
)


@dataclass(slots=True)
class SuiteOutcome:
    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    """With the reason, where the shim gave one."""
    unfinished: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not self.failed and not self.unfinished


def run_suite(program: SuiteProgram, log: Path, left_out: LeftOut, only: str = "") -> SuiteOutcome:
    """`only` is the pattern of those to run."""
    command = [str(program.path), "-test.v", "-test.timeout=40m", "-test.parallel=1"]
    if only:
        command.append(f"-test.run={only}")
    if left_out:
        command.append(f"-test.skip={'|'.join(left_out)}")
    with tempfile.TemporaryDirectory(prefix="plimsoll-suite-") as name, log.open("wb") as output:
        # They may write where they are.
        if program.data is not None and program.data.exists():
            Path(name, "testdata").symlink_to(program.data)
        environment = {**_environment(name), **program.environment}
        ended = subprocess.run(
            command, cwd=name, env=environment, stdout=output, stderr=output, check=False
        )
    return read_outcome(log.read_text(errors="replace"), ended.returncode)


def _environment(directory: str) -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{peers.build(peers.ETCD).parent}:{os.environ.get('PATH', '')}",
        "PLIMSOLL": str(Path(sys.executable).with_name("plimsoll")),
        "TMPDIR": directory,
    }


def read_outcome(text: str, exit_code: int = 0) -> SuiteOutcome:
    """From what `-test.v` prints. A program may fail though no test of it did."""
    outcome, running, why = SuiteOutcome(), dict[str, None](), ""
    for line in text.splitlines():
        if started := STARTED.match(line):
            running[started[1]] = None
        elif told := WHY_SKIPPED.search(line):
            why = told[1]
        elif ended := ENDED.match(line):
            running.pop(ended[2], None)
            match ended[1]:
                case "PASS":
                    outcome.passed.append(ended[2])
                case "FAIL":
                    outcome.failed.append(ended[2])
                case _:
                    outcome.skipped[ended[2]] = why
    outcome.unfinished = [*running]
    outcome.passed = _leaves(outcome.passed)
    outcome.failed = _leaves(outcome.failed)
    if exit_code != 0 and outcome.is_good:
        outcome.unfinished = [f"the program, with exit code {exit_code}"]
    return outcome


def told_by(test: str, text: str, lines: int) -> str:
    """The last lines that a test has printed; of the whole program if the test is not in it."""
    found, is_its_own = [], False
    for line in text.splitlines():
        if begun := NAMED.match(line):
            is_its_own = begun[1] == test
        elif ended := ENDED.match(line):
            is_its_own = is_its_own and ended[2] != test
        if is_its_own:
            found.append(line)
    return "\n".join((found or text.splitlines())[-lines:])


def _leaves(names: list[str]) -> list[str]:
    """Without the tests that are made of others."""
    parents = {name[:end] for name in names for end, mark in enumerate(name) if mark == "/"}
    return [name for name in names if name not in parents]
