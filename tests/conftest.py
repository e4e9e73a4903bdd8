"""Which event loop a test runs in: the ordinary one, or that of the simulator."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from plimsoll.simulator.engine.loop import VirtualLoop

Factories = Mapping[str, Callable[[], asyncio.AbstractEventLoop]]


def pytest_asyncio_loop_factories(item: pytest.Item) -> Factories:
    """Tests marked with `virtual_time` use a story's cluster; all of tests/stories do."""
    if item.get_closest_marker("virtual_time") is not None:
        return {"virtual": VirtualLoop}
    return {"ordinary": asyncio.new_event_loop}
