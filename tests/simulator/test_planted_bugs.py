"""The simulator finds bugs: each of these is planted in the program of a worker, one at a time.

`make sim PLANTS=1` runs these tests. They take minutes of processor time, so `make test` leaves
them out. Each plant is looked for in the seed that was seen to find it, and in some after it: the
seeds mean other scenarios once the generator has changed.
"""

import os
import subprocess
import sys
from contextlib import closing

import pytest
from tools.sim.tally import is_failing
from tools.sim.workers import Run, outcomes

from tests.simulator.plants import PLANTS, Plant

SEEDS = 10
SEED_WITH_LEFTOVERS = 2
"""In it, a node comes back and finds pods that were deleted meanwhile."""
PLAY = """
import logging
from plimsoll.simulator.run import run_scenario
from plimsoll.simulator.scenario.generate import generate
from tests.simulator.plants import iterate_a_set
iterate_a_set()
logging.disable(logging.CRITICAL)
print(run_scenario(generate({seed})).digest)
"""

pytestmark = pytest.mark.planted


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_a_planted_bug_is_found(plant: Plant) -> None:
    runs = (Run(seed=plant.seed + more, plant=plant.make) for more in range(SEEDS))

    with closing(outcomes(runs, jobs=1)) as played:
        assert any(is_failing(each) for each in played)


def test_an_order_that_depends_on_the_hash_seed_is_found() -> None:
    digests = {play(hash_seed) for hash_seed in ("1", "2")}

    assert len(digests) == 2


def play(hash_seed: str) -> str:
    program = PLAY.format(seed=SEED_WITH_LEFTOVERS)
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=True, text=True
    )
    return ended.stdout
