"""The simulator finds bugs: each of these is planted in the program of a worker, one at a time.

`make sim PLANTS=1` runs these tests. They take minutes of processor time, so `make test` leaves
them out. Each plant is looked for in the seed that was seen to find it, and in some after it: a
change of the program is another interleaving, and one of the generator another scenario.
"""

import os
import subprocess
import sys
from contextlib import closing

import pytest
from tools.sim.tally import signature
from tools.sim.workers import Run, outcomes

from tests.simulator.plants import PLANTS, Plant

SEEDS = 120
PLAY = """
import logging
from plimsoll.simulator.run import run_scenario
from plimsoll.simulator.scenario.generate import generate
from tests.simulator.plants import iterate_a_set
iterate_a_set()
logging.disable(logging.CRITICAL)
print(run_scenario(generate(1)).digest)
"""

pytestmark = pytest.mark.planted


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_a_planted_bug_violates_its_invariant(plant: Plant) -> None:
    runs = (Run(seed=plant.seed + more, plant=plant.make) for more in range(SEEDS))

    with closing(outcomes(runs, jobs=1)) as played:
        assert any(plant.invariant in signature(each) for each in played)


def test_an_order_that_depends_on_the_hash_seed_is_found() -> None:
    assert play("1") != play("2")


def play(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    ended = subprocess.run(
        [sys.executable, "-c", PLAY], env=environment, capture_output=True, check=True, text=True
    )
    return ended.stdout
