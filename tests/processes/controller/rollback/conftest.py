"""Stories run in the simulator's event loop: time is virtual, and nothing escapes."""

from collections.abc import Callable, Mapping

from plimsoll.simulator.engine.loop import VirtualLoop


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], VirtualLoop]]:
    return {"virtual": VirtualLoop}
