"""Which event loop a test runs in, the ordinary one or that of the simulator; no time limits; files
that take long first.

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

LONGEST = (
    "tests/durability/test_corruption.py",
    "tests/apiserver/test_stalls.py",
    "tests/docs/test_pages_run.py",
    "tests/stories/test_unused_volumes_crash.py",
    "tests/fuzz/test_random_requests.py",
    "tests/ui/local_cluster/test_light_form.py",
    "tests/architecture/test_shape.py",
    "tests/docs/test_documents.py",
    "tests/docs/test_pages_on_a_cluster.py",
    "tests/stories/test_groups.py",
    "tests/kubectl/test_every_kind.py",
    "tests/ui/cli/test_up.py",
    "tests/ui/cli/test_driver.py",
    "tests/decide/scheduling/columns/test_cluster.py",
    "tests/stories/test_in_process_groups.py",
    "tests/conversations/test_replay.py",
    "tests/decide/scheduling/test_picking.py",
    "tests/stories/test_unused_volumes.py",
)
"""A worker plays a whole file: one that begins last would keep the others waiting for it."""

Factories = Mapping[str, Callable[[], asyncio.AbstractEventLoop]]


def pytest_asyncio_loop_factories(item: pytest.Item) -> Factories:
    """Tests marked with `virtual_time` use a story's cluster; all of tests/stories do."""
    if item.get_closest_marker("virtual_time") is not None:
        return {"virtual": VirtualLoop}
    return {"ordinary": asyncio.new_event_loop}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {file: place for place, file in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))
