"""Which event loop a test runs in, the ordinary one or that of the simulator; no time limits.

How long an example takes says more of the machine than of the code: on busy cores Hypothesis would
fail tests for it.
"""

import asyncio
from collections.abc import Callable, Mapping

import pytest
from hypothesis import HealthCheck, settings

from plimsoll.simulator.engine.loop import VirtualLoop

settings.register_profile("plimsoll", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("plimsoll")

Factories = Mapping[str, Callable[[], asyncio.AbstractEventLoop]]


def pytest_asyncio_loop_factories(item: pytest.Item) -> Factories:
    """Tests marked with `virtual_time` use a story's cluster; all of tests/stories do."""
    if item.get_closest_marker("virtual_time") is not None:
        return {"virtual": VirtualLoop}
    return {"ordinary": asyncio.new_event_loop}
