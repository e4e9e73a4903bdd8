"""How repairs are named, told and rehearsed."""

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.plan import Delete, Emit, ResourceName
from plimsoll.decide.repair.repairs import (
    Repair,
    Repaired,
    RepairRule,
    as_plan,
    as_rehearsal,
    parse_rules,
)

WRITE = Delete(resource=ResourceName("", "v1", "pods"), key=ObjectKey("a", "b"))
REPAIR = Repair(
    rule=RepairRule.LOST_NODE_VOLUMES,
    reason=Repaired.VOLUME_LOST,
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


def test_rules_are_switched_on_by_name_and_a_misspelt_one_is_an_error() -> None:
    assert parse_rules([]) == frozenset()
    assert parse_rules(["direct-node"]) == {RepairRule.DIRECT_NODE}
    with pytest.raises(ValueError, match="unknown repair rules: direct; known: direct-node, lost"):
        parse_rules(["direct", "selected-node"])
