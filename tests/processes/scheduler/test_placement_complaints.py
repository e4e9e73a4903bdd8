"""Classes and pods that ask for a placement that cannot be read."""

from typing import TypeVar

import msgspec

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import StorageClass
from plimsoll.decide.annotations import HEADROOM, PLACEMENT
from plimsoll.decide.plan import Emit, EventType, Plan
from plimsoll.processes.scheduler.placement_complaints import complaining_of_placement
from plimsoll.processes.scheduler.state import ChangeHandler
from tests.builders import a_class, a_node, a_pod

T = TypeVar("T", StorageClass, Pod)


def saying(object_: T, placement: str, **more: str) -> T:
    annotations = {PLACEMENT: placement, **more}
    metadata = msgspec.structs.replace(object_.metadata, annotations=annotations)
    return msgspec.structs.replace(object_, metadata=metadata)


def complaining(ours: str = "web-0") -> tuple[dict[ObjectKey, Plan], ChangeHandler]:
    told: dict[ObjectKey, Plan] = {}

    def tell(key: ObjectKey, plan: Plan) -> None:
        assert key not in told
        told[key] = plan

    return told, complaining_of_placement(tell, is_ours=lambda pod: pod.name == ours)


def test_a_class_is_told_once_for_each_change() -> None:
    told, complain = complaining()
    good, bad = saying(a_class(), "pack"), saying(a_class(), "tight", **{HEADROOM: "much"})
    complain(None, good)
    complain(None, a_node())
    assert not told
    complain(good, bad)
    complain(bad, bad)
    complain(bad, None)
    (plan,) = told.values()
    (emit,) = plan.writes
    assert isinstance(emit, Emit)
    assert (emit.type, emit.reason) == (EventType.WARNING, "PlacementUnreadable")
    assert emit.regarding["kind"] == "StorageClass"
    assert PLACEMENT in emit.message
    assert HEADROOM in emit.message


def test_only_pods_of_this_scheduler_that_wait_are_told() -> None:
    told, complain = complaining()
    complain(None, saying(a_pod("foreign"), "tight"))
    complain(None, saying(a_pod(node="node-1"), "tight"))
    complain(None, saying(a_pod(), "pack", **{HEADROOM: "only classes say it"}))
    assert not told
    complain(None, saying(a_pod(), "tight"))
    assert [*told] == [a_pod().key]
