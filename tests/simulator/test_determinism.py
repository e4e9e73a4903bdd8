"""A seed is a run: the same trace, byte for byte, in every process."""

import os
import subprocess
import sys

PLAY = """
import logging, sys
{first}
import msgspec
from plimsoll.simulator.run import run_scenario
from plimsoll.simulator.scenario.generate import generate
whole = generate({seed})
short = msgspec.structs.replace(whole, lasting={lasting})
kept = {{name: tuple(each for each in getattr(whole, name) if each.at < {lasting})
        for name in ("actions", "faults")}}
logging.disable(logging.CRITICAL)
verdict = run_scenario(msgspec.structs.replace(short, **kept), keeps_lines=True)
sys.stdout.write("\\n".join(verdict.lines))
"""


def play(seed: int, lasting: float, hash_seed: str, first: str = "") -> subprocess.Popen[bytes]:
    program = PLAY.format(seed=seed, lasting=lasting, first=first)
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )


def test_one_seed_gives_the_same_trace_whatever_the_hash_seed() -> None:
    runs = [play(9, 120.0, hash_seed) for hash_seed in ("1", "2")]

    one, other = (run.communicate()[0] for run in runs)

    assert one.count(b"\n") > 500
    assert one == other


def test_a_seed_gives_the_same_trace_in_a_process_that_has_played_another_one() -> None:
    runs = [play(9, 60.0, "1", first) for first in ("", "import tools.sim.warmed")]

    fresh, warmed = (run.communicate()[0] for run in runs)

    assert fresh.count(b"\n") > 300
    assert fresh == warmed
