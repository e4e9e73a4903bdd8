"""A server in memory whose clock stands still."""

from collections.abc import AsyncIterator

import pytest

from plimsoll.runtime.clock import SteppedClock
from tests.apiserver.api import Api, serving


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
async def api(clock: SteppedClock) -> AsyncIterator[Api]:
    async with serving(clock=clock) as api:
        yield api
