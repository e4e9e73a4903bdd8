"""`plimsoll simulate`: what becomes of a cluster with these workloads and these failures."""

import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec

from plimsoll.runtime.clock import Clock, SystemClock
from plimsoll.runtime.config import Settings, Sources, load_settings
from plimsoll.runtime.flags import Flag, PathKind
from plimsoll.simulator.recording.recorder import Recorder
from plimsoll.simulator.recording.recording import RunProgress
from plimsoll.simulator.run import RunVerdict, run_scenario
from plimsoll.simulator.scenario.file import check_names, load
from plimsoll.simulator.scenario.scenario import Scenario
from plimsoll.simulator.scenario.strict import ScenarioError
from plimsoll.ui.documents import JSON, TABLE, written_document
from plimsoll.ui.options.settings_options import OptionDefaults, settings_options
from plimsoll.ui.simulate.contents import report_of
from plimsoll.ui.simulate.document import report_document
from plimsoll.ui.simulate.page import written_page
from plimsoll.ui.simulate.report import Tone, span
from plimsoll.ui.simulate.text import written_text

PROGRESS_SECONDS = 5.0
INTERRUPTED = 128 + signal.SIGINT
SAMPLES = 120
"""About so many for a scenario that takes its whole time; at most one for each virtual second."""


class SimulateFlags(Settings, frozen=True, kw_only=True):
    seed: Annotated[
        int | None, Flag("Of everything left to chance; default: as in the file.", at_least=0)
    ] = None
    duration: Annotated[
        timedelta | None,
        Flag("How long users and faults act; default: as in the file.", metavar="DURATION"),
    ] = None
    html: Annotated[
        str, Flag("Write the report as a page, too.", metavar="FILE", path=PathKind.FILE)
    ] = ""
    timeline: Annotated[
        bool, Flag("Tell everything that every process did, before the report.", off=None)
    ] = False
    output_format: Annotated[str, Flag(spellings=("-o",), choices=(TABLE, JSON))] = TABLE


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@settings_options(SimulateFlags, defaults=OptionDefaults.FINAL)
def simulate(file: Path, **given: Any) -> None:
    """Run the cluster of a scenario FILE in virtual time, and report what becomes of it.

    All processes are those of production; their clocks, messages, disks and drivers are simulated.
    Nothing outside is touched. The same file and seed give the same report, byte for byte.

    Every few seconds a line on standard error tells how far the run has come. Ctrl-C ends it, with
    a report of what has happened until then.

    Exit codes: 0 every invariant held and every pod runs or has ended; 1 not so; 2 bad usage or a
    bad file; 130 ended by Ctrl-C.
    """
    flags = load_settings(SimulateFlags, Sources(flags=given))
    scenario = _scenario(file, flags)
    _check_page(flags)
    clock = SystemClock()
    begun = clock.monotonic()
    recorder = Recorder(
        max((scenario.lasting + scenario.settling) / SAMPLES, 1.0), _Progress(clock)
    )
    with _quiet_logs():
        verdict = run_scenario(scenario, keeps_lines=flags.timeline, observer=recorder)
    took = f"{span(verdict.virtual_seconds)} of virtual time in {span(clock.monotonic() - begun)}"
    click.echo(took, err=True)
    code = _tell(file, flags, verdict, recorder)
    sys.exit(INTERRUPTED if verdict.was_interrupted else code)


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """What simulated processes say is for the timeline."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def _scenario(file: Path, flags: SimulateFlags) -> Scenario:
    try:
        scenario = load(file)
        if flags.seed is not None:
            scenario = msgspec.structs.replace(scenario, seed=flags.seed)
        if flags.duration is not None:
            lasting = flags.duration.total_seconds()
            scenario = msgspec.structs.replace(scenario, lasting=lasting)
            check_names(scenario)
    except ScenarioError as error:
        raise click.UsageError(str(error)) from error
    return scenario


def _check_page(flags: SimulateFlags) -> None:
    """Before the run, which may take long."""
    if flags.html:
        try:
            Path(flags.html).open("ab").close()
        except OSError as error:
            raise _unwritable(flags, error) from error


def _unwritable(flags: SimulateFlags, error: OSError) -> click.UsageError:
    return click.UsageError(f"--html: {flags.html}: {error.strerror}")


def _tell(file: Path, flags: SimulateFlags, verdict: RunVerdict, recorder: Recorder) -> int:
    recording = recorder.recording
    report = report_of(file.stem, verdict, recording)
    if flags.html:
        try:
            Path(flags.html).write_text(written_page(report))
        except OSError as error:
            raise _unwritable(flags, error) from error
    for line in verdict.lines:
        click.echo(line)
    if flags.output_format == JSON:
        click.echo(written_document(report_document(file.stem, verdict, recording), JSON))
    else:
        click.echo(written_text(report), nl=False)
    return 0 if report.tone is Tone.GOOD else 1


class _Progress:
    """A line on standard error now and then, so that a reader sees that time passes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_at = self._told_at = clock.monotonic()

    def __call__(self, recorder: Recorder) -> None:
        now = self._clock.monotonic()
        if now - self._told_at >= PROGRESS_SECONDS:
            self._told_at = now
            click.echo(f"{span(now - self._began_at)}: {_told(recorder.progress())}", err=True)


def _told(progress: RunProgress) -> str:
    if progress.at is None:
        return f"coming up, {progress.nodes_ready} of {progress.nodes} nodes ready"
    pods = ", ".join(f"{number} {state}" for state, number in progress.pods.items() if number)
    return f"virtual time {span(progress.at)}, pods: {pods or 'none yet'}"
