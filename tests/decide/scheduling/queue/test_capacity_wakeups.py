"""What wakes pods with claims beyond what kube-scheduler looks at."""

import msgspec
import pytest

from plimsoll.api.storage import CSIDriver
from plimsoll.decide.scheduling.queue.capacity_wakeups import (
    drivers_of,
    frees_capacity,
    shares_capacity,
)
from plimsoll.decide.scheduling.queue.wakeups import helps
from plimsoll.decide.scheduling.reasons import Rule
from tests.builders import a_capacity, a_claim, a_class, a_driver, a_pod
from tests.decide.scheduling.builders import a_cluster


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(
            msgspec.structs.replace(
                a_driver(), spec=msgspec.structs.replace(a_driver().spec, storage_capacity=False)
            ),
            id="switched-off",
        ),
        pytest.param(None, id="deleted"),
    ],
)
def test_pods_with_claims_wake_when_room_does_not_count_any_more(after: CSIDriver | None) -> None:
    waiting = a_pod(claims=("data",))
    assert helps(Rule.VOLUME_BINDING, waiting, a_driver(), after)
    assert not helps(Rule.VOLUME_BINDING, a_pod(), a_driver(), after)
    assert not helps(Rule.VOLUME_BINDING, waiting, after, a_driver())
    assert not helps(Rule.VOLUME_LIMITS, waiting, a_driver(), after)


@pytest.mark.parametrize(
    ("freed", "wakes"),
    [
        pytest.param("fast", True, id="its-class"),
        pytest.param("safe", True, id="another-class-of-the-driver"),
        pytest.param("foreign", False, id="a-class-of-another-driver"),
        pytest.param("gone", True, id="a-class-that-is-gone"),
    ],
)
def test_a_pod_wakes_when_less_is_reserved_of_a_driver_that_it_needs(
    freed: str, *, wakes: bool
) -> None:
    classes = (a_class("fast"), a_class("safe"), a_class("foreign", provisioner="other.example"))
    cluster = a_cluster(*classes, a_claim("data", class_name="fast"))
    drivers = drivers_of({freed}, cluster)
    assert shares_capacity(a_pod(claims=("data",)), drivers, cluster) is wakes


def test_a_pod_whose_volumes_are_there_waits_for_no_capacity() -> None:
    bound = a_claim("data", class_name="fast", volume="pv-1")
    cluster = a_cluster(a_class("fast"), bound)
    drivers = drivers_of({"fast"}, cluster)
    assert not shares_capacity(a_pod(claims=("data",)), drivers, cluster)
    assert not shares_capacity(a_pod(), drivers, cluster)


def test_capacity_must_grow_in_all() -> None:
    small, large = (a_capacity(segment={}, gib=gib) for gib in (1, 2))
    assert frees_capacity(small, large)
    assert not frees_capacity(None, small)
