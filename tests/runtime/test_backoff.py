from datetime import timedelta
from random import Random

from hypothesis import given, strategies as st

from plimsoll.runtime.backoff import Backoff

BACKOFF = Backoff(first=timedelta(seconds=1), limit=timedelta(minutes=1))


@given(failures=st.integers(0, 10_000), seed=st.integers())
def test_a_delay_is_never_longer_than_the_limit_nor_shorter_than_half_its_step(
    failures: int, seed: int
) -> None:
    delay = BACKOFF.delay(failures, Random(seed))
    step = min(60, 2 ** min(failures, 20))
    assert timedelta(seconds=step / 2) <= delay <= timedelta(seconds=step)


def test_two_processes_do_not_wait_equally_long() -> None:
    assert BACKOFF.delay(5, Random(1)) != BACKOFF.delay(5, Random(2))
