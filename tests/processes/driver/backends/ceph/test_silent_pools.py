from datetime import timedelta

from plimsoll.processes.driver.backends.ceph.silent_pools import SILENT_FOR, SilentPools
from plimsoll.runtime.clock import SteppedClock
from plimsoll.wire.ceph.errors import CephError, CephFailure


async def test_a_pool_that_did_not_answer_is_left_alone_for_a_moment() -> None:
    clock = SteppedClock()
    pools = SilentPools(clock)
    error = CephError(CephFailure.TIMED_OUT, "pool a")
    pools.note("a", error)
    assert (pools.find("a"), pools.find("b")) == (error, None)
    await clock.run(SILENT_FOR - timedelta(milliseconds=1))
    assert pools.find("a") is error
    await clock.run(timedelta(milliseconds=1))
    assert pools.find("a") is None


def test_a_pool_that_answered_is_asked_again_whatever_it_said() -> None:
    pools = SilentPools(SteppedClock())
    pools.note("a", CephError(CephFailure.NOT_FOUND, "pool a"))
    assert pools.find("a") is None
