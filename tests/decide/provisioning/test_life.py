"""Whatever a driver answers and whatever becomes of the claim: no asset is forgotten."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from plimsoll.decide.provisioning.calls import (
    CallFailed,
    Code,
    CreateOutcome,
    Deleted,
    DeleteOutcome,
)
from plimsoll.decide.provisioning.steps import ProvisioningRecord
from tests.builders import ZONE
from tests.decide.provisioning.builders import (
    CLAIM,
    MADE,
    NAME,
    ONLY_A,
    a_class_document,
    a_world,
    annotate,
    claim_in,
    volumes_in,
)
from tests.decide.provisioning.world import CLAIMS, Driver

BUSY = sorted(code for code in Code if code.may_still_be_running)
FINAL = sorted(code for code in Code if not code.may_still_be_running)


class Disk(Driver):
    """Makes an asset, or only begins to; a final refusal leaves nothing behind."""

    exists: bool = False

    def answer_delete(self) -> DeleteOutcome:
        outcome = super().answer_delete()
        if isinstance(outcome, Deleted):
            self.exists = False
        return outcome


class NothingIsForgotten(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = a_world(class_=a_class_document(allowedTopologies=ONLY_A))
        self.disk = Disk()
        self.world.driver = self.disk

    def look(self, answer: CreateOutcome, *, leaves_asset: bool) -> None:
        asked, is_repeated = len(self.disk.created), self.world.memory.in_progress is not None
        self.disk.create = answer
        # The answer only counts if the driver was asked; what it made is there before it answers.
        existed = self.disk.exists
        self.disk.exists = True if leaves_asset else self.disk.exists
        end = self.world.provision(CLAIM)
        if len(self.disk.created) == asked:
            self.disk.exists = existed
        elif isinstance(answer, CallFailed) and answer.code in FINAL:
            self.disk.exists = False
        if isinstance(end, ProvisioningRecord):
            self.disk.exists = True
        if is_repeated and len(self.disk.created) > asked:
            again, before = self.disk.created[asked], self.disk.created[asked - 1]
            assert again == before, "the same has to be asked"

    @rule()
    def the_driver_makes_it(self) -> None:
        self.look(MADE, leaves_asset=True)

    @rule(size=st.integers(1, 5))
    def the_driver_makes_it_too_small(self, size: int) -> None:
        self.look(replace(MADE, capacity_bytes=size), leaves_asset=True)

    @rule()
    def the_driver_makes_it_where_it_must_not_be(self) -> None:
        self.look(replace(MADE, segments=({ZONE: "a"}, {ZONE: "b"})), leaves_asset=True)

    @rule()
    def time_passes(self) -> None:
        self.world.now += timedelta(minutes=6)

    @rule(code=st.sampled_from(BUSY), begun=st.booleans())
    def the_driver_takes_its_time(self, code: Code, *, begun: bool) -> None:
        self.look(CallFailed(code), leaves_asset=begun)

    @rule(code=st.sampled_from(FINAL))
    def the_driver_refuses(self, code: Code) -> None:
        self.look(CallFailed(code), leaves_asset=False)

    @rule(works=st.booleans())
    def deleting_works_or_not(self, *, works: bool) -> None:
        self.disk.delete = [Deleted() if works else CallFailed(Code.INTERNAL)]

    @precondition(lambda self: self.claim_exists)
    @rule(node=st.sampled_from(["node-1", "node-2", "node-x", None]))
    def the_scheduler_changes_its_mind(self, node: str | None) -> None:
        annotate(claim_in(self.world), selected_node=node)

    @precondition(lambda self: self.claim_exists and not volumes_in(self.world))
    @rule()
    def the_claim_takes_another_volume(self) -> None:
        claim_in(self.world)["spec"]["volumeName"] = "another"

    @precondition(lambda self: self.claim_exists)
    @rule()
    def the_claim_is_deleted(self) -> None:
        del self.world.documents[CLAIMS, CLAIM]

    @property
    def claim_exists(self) -> bool:
        return (CLAIMS, CLAIM) in self.world.documents

    @invariant()
    def every_asset_is_recorded_or_still_asked_about(self) -> None:
        is_recorded = volumes_in(self.world) == [NAME]
        assert not self.disk.exists or is_recorded or self.world.memory.in_progress is not None

    @invariant()
    def a_claim_has_at_most_one_volume(self) -> None:
        assert volumes_in(self.world) in ([], [NAME])


NothingIsForgotten.TestCase.settings = settings(max_examples=60, stateful_step_count=12)
TestNothingIsForgotten = NothingIsForgotten.TestCase
