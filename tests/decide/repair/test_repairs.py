"""How repairs are named, told and rehearsed."""

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.plan import Delete, Emit, ResourceName
from plimsoll.decide.repair.repairs import (
    Repair,
    RepairReason,
    RepairRule,
    as_plan,
    as_rehearsal,
)

WRITE = Delete(resource=ResourceName("", "v1", "pods"), key=ObjectKey("a", "b"))
REPAIR = Repair(
    rule=RepairRule.LOST_NODE_VOLUMES,
    reason=RepairReason.VOLUME_LOST,
    regarding={"metadata": {"name": "b"}},
    found="Something is wrong",
    remedy="it is mended",
    writes=(WRITE,),
)


def test_a_repair_is_made_and_then_told() -> None:
    write, event = as_plan(REPAIR).writes
    assert write is WRITE
    assert isinstance(event, Emit)
    assert event.message == "Something is wrong, so it is mended."


def test_a_rehearsal_only_tells() -> None:
    (event,) = as_rehearsal(REPAIR).writes
    assert isinstance(event, Emit)
    assert event.reason == "RepairRehearsed"
    assert event.message == "Something is wrong. This is a dry run; otherwise it is mended."
