"""Whether published capacity is looked at for the claims of a pod."""

import msgspec
import pytest

from plimsoll.api.meta import ApiObject
from plimsoll.decide.scheduling.rules.volume_binding.capacity_use import CapacityUse, capacity_uses
from tests.builders import a_claim, a_class, a_driver, a_pod
from tests.decide.scheduling.builders import a_cluster, a_local_class, bound

POD = a_pod(claims=["data"])


def untracked() -> ApiObject:
    driver = a_driver()
    spec = msgspec.structs.replace(driver.spec, storage_capacity=False)
    return msgspec.structs.replace(driver, spec=spec)


@pytest.mark.parametrize(
    ("objects", "uses"),
    [
        pytest.param((a_class(), a_driver(), a_claim()), ["consulted"], id="tracked"),
        pytest.param((a_class(), untracked(), a_claim()), ["not-tracked"], id="not-tracked"),
        pytest.param((a_class(), a_claim()), ["unknown-driver"], id="no-object"),
        pytest.param((a_local_class(), a_claim()), [], id="no-volume-can-be-made"),
        pytest.param((a_class(), a_driver(), bound(a_claim(), "volume-1")), [], id="bound"),
        pytest.param((a_class(binding_mode="Immediate"), a_claim()), [], id="not-delay-bound"),
        pytest.param((), [], id="no-claim"),
    ],
)
def test_capacity_is_consulted_where_the_driver_tracks_it(
    objects: tuple[ApiObject, ...], uses: list[str]
) -> None:
    assert capacity_uses(POD, a_cluster(*objects)) == [CapacityUse(use) for use in uses]
