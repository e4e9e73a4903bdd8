"""Kubernetes' own suites about storage, workloads and the API, for `make conformance`.

They mostly wait, so that some run side by side, each test with servers of its own; `make suites`
has more of them, one after the other. A test that fails is not run again: the server is wrong until
something else is shown.
"""

import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.step import Say, Servers, Step, tell
from conformance.suites.build import SuiteProgram, build_suite
from conformance.suites.report import report
from conformance.suites.run import SuiteOutcome, run_suite, told_by
from conformance.suites.serving import SERVER

NAMES = (
    "volumescheduling",
    "garbagecollector",
    "deployment",
    "volume",
    "apiserver/apply",
    "evictions",
    "disruption",
    "statefulset",
    "pods",
    "serviceaccount",
    "dryrun",
    "quota",
    "storageclasses",
)
"""Those that take longest begin first."""
SUBJECT = replace(SERVER, suites={name: SERVER.suites[name] for name in NAMES})
AT_A_TIME = 3
LINES = 30
"""How much is shown of what a test said that did not pass."""


@dataclass(frozen=True, slots=True)
class Ended:
    name: str
    outcome: SuiteOutcome
    text: str

    @property
    def problems(self) -> list[str]:
        if not self.outcome.passed:
            return [f"{self.name}: no test has passed:\n{self.text[-2000:]}"]
        tests = (*self.outcome.failed, *self.outcome.unfinished)
        return [f"{self.name}: {test}:\n{told_by(test, self.text, LINES)}" for test in tests]


def build(say: Say) -> Path:
    """The program of all these suites."""
    return build_suite(SUBJECT, NAMES[0], say).path


def run(say: Say) -> None:
    programs = {name: build_suite(SUBJECT, name, say) for name in NAMES}
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="plimsoll-suites-") as logs:
        for ended in _ended(programs, Path(logs)):
            for line in report(ended.name, ended.outcome, SUBJECT.suites[ended.name]):
                say(line)
            problems += ended.problems
    assert not problems, (
        "\n".join(problems)
        + "\nSUITES='--on server --suite NAME --logs DIR' make suites keeps all that is printed"
    )


def _ended(programs: dict[str, SuiteProgram], logs: Path) -> Iterator[Ended]:
    """Each suite when it has ended."""
    with ThreadPoolExecutor(AT_A_TIME) as lanes:
        running: list[Future[Ended]] = [
            lanes.submit(_run, name, program, logs) for name, program in programs.items()
        ]
        for ended in as_completed(running):
            yield ended.result()


def _run(name: str, program: SuiteProgram, logs: Path) -> Ended:
    log = logs / f"{name.replace('/', '_')}.log"
    outcome = run_suite(program, log, SUBJECT.suites[name])
    return Ended(name, outcome, log.read_text(errors="replace"))


def suites_on_ours(_servers: Servers) -> None:
    tell("embedded", run)


SUITE_STEPS = (Step("Kubernetes' own suites on the embedded server", suites_on_ours),)
