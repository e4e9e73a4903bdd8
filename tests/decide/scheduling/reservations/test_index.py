"""What is reserved, and until when."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from plimsoll.api.core import Lease
from plimsoll.api.meta import ApiObject, ObjectKey, ObjectMeta
from plimsoll.api.pods import Pod, SchedulingGate
from plimsoll.api.storage import CSIStorageCapacity, StorageClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.capacity.pools import POOLS, PublishedPool, pools_text
from plimsoll.decide.capacity.tokens import CAPACITY_TOKEN
from plimsoll.decide.capacity.volume_sizes import Cost
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import (
    CONTENT,
    Intent,
    IntentState,
    recorded_claim,
)
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel, NoNode, Placement
from plimsoll.decide.scheduling.reasons import Reason
from plimsoll.decide.scheduling.reservations.deadlines import UNBEGUN, UNDECIDED, UNORDERED
from plimsoll.decide.scheduling.reservations.users import MOST_PER_POD
from plimsoll.decide.scheduling.rules.volume_binding.charges import RESERVATIONS
from tests.builders import (
    DRIVER,
    HOSTNAME,
    a_capacity,
    a_claim,
    a_class,
    a_driver,
    a_node,
    a_pod,
    a_volume,
)

GIB = 2**30
LONG_AGO = datetime(2024, 1, 1, tzinfo=UTC)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MOMENT = timedelta(seconds=1)


def noted(object_: ApiObject, **annotations: str) -> ApiObject:
    merged = {**object_.annotations, **annotations}
    metadata = msgspec.structs.replace(object_.metadata, annotations=merged)
    return msgspec.structs.replace(object_, metadata=metadata)


def capacity(
    *gib: int, counter: int | None = 1, class_name: str = "fast", declared: bool = True
) -> CSIStorageCapacity:
    """Of node n, with one disk for each number."""
    free = {f"disk-{number}": each * GIB for number, each in enumerate(gib)}
    pool = PublishedPool(name="disks", free=free, cost=Cost())
    told = {POOLS: str(pools_text([pool]))} if declared else {}
    if counter is not None:
        told[CAPACITY_TOKEN] = f"1.0.{counter}"
    made = a_capacity(class_name, segment={HOSTNAME: "n"}, gib=sum(gib), class_name=class_name)
    made = msgspec.structs.replace(made, maximum_volume_size=f"{max(gib)}Gi")
    found = noted(made, **told)
    assert isinstance(found, CSIStorageCapacity)
    return found


def selected(name: str, *, gib: int, class_name: str = "fast") -> PersistentVolumeClaim:
    found = noted(a_claim(name, gib=gib, class_name=class_name), **{SELECTED_NODE: "n"})
    assert isinstance(found, PersistentVolumeClaim)
    return found


def recorded(claim: PersistentVolumeClaim, *, gib: int, counter: int | None) -> PersistentVolume:
    made = a_volume(f"of-{claim.name}", gib=gib, class_name="fast", claim=claim)
    token = {} if counter is None else {CAPACITY_TOKEN: f"1.0.{counter}"}
    found = noted(made, **token)
    assert isinstance(found, PersistentVolume)
    return found


OTHER = selected("other", gib=6)
USER = a_pod("user", claims=["other"])
WEB = a_pod("web", claims=["data"])
WORLD: list[ApiObject] = [a_node("n"), a_driver(), a_class("fast"), a_class("safe")]


def decide(*objects: ApiObject, gib: int = 5, pod: Pod = WEB) -> Placement | NoNode:
    claim = a_claim("data", gib=gib, class_name="fast")
    return Kernel(Columns.of([*WORLD, claim, *objects])).decide(pod)


def fits(*objects: ApiObject, gib: int = 5) -> bool:
    return isinstance(decide(*objects, gib=gib), Placement)


def test_room_is_charged_from_the_decision_on() -> None:
    assert fits(capacity(10), OTHER)
    found = decide(capacity(10), OTHER, USER)
    assert isinstance(found, NoNode)
    assert set(found.reasons) == {Reason.CAPACITY_RESERVED}
    assert found.message.endswith(
        f"[CapacityReserved; the claims need 5Gi of Pool {DRIVER}/disks, which has 4Gi beside what "
        "is reserved]"
    )
    assert fits(capacity(10), OTHER, USER, gib=4)


def test_a_claim_that_no_live_pod_uses_reserves_nothing() -> None:
    gone = msgspec.structs.replace(
        USER, metadata=msgspec.structs.replace(USER.metadata, deletion_timestamp=LONG_AGO)
    )
    assert fits(capacity(10), OTHER, gone)


def test_a_pod_with_many_claims_reserves_for_some_of_them() -> None:
    names = [f"c{number}" for number in range(MOST_PER_POD + 10)]
    many = [selected(name, gib=1) for name in names]
    user = a_pod("user", claims=names)
    assert fits(capacity(MOST_PER_POD + 5), *many, user)
    assert not fits(capacity(MOST_PER_POD + 4), *many, user)


def test_the_charge_lasts_until_the_report_counts_the_volume_in() -> None:
    volume = recorded(OTHER, gib=6, counter=2)
    # The driver has 10Gi less 6Gi for the volume: a report before token 2 may say either.
    assert not fits(capacity(10, counter=1), OTHER, USER, volume)
    assert fits(capacity(10, counter=2), OTHER, USER, volume)
    assert fits(capacity(10, counter=3), OTHER, volume)


def test_each_object_of_a_pool_is_charged_until_its_own_report() -> None:
    volume = recorded(OTHER, gib=6, counter=2)
    late = capacity(10, counter=1, class_name="safe")
    objects = [capacity(4, counter=2), late, OTHER, volume]
    claim = a_claim("data", gib=5, class_name="safe")
    found = Kernel(Columns.of([*WORLD, claim, *objects])).decide(WEB)
    assert isinstance(found, NoNode)
    assert set(found.reasons) == {Reason.CAPACITY_RESERVED}


def test_a_volume_that_was_made_elsewhere_takes_nothing_of_the_selected_node() -> None:
    """The driver is free to choose, and no report about the selected node counts it in."""
    seen = Watched(capacity(10), a_node("m"), OTHER, USER)
    assert not seen.is_placed()
    made = a_volume("of-other", gib=6, claim=OTHER, reachable_from={HOSTNAME: "m"})
    seen.put(noted(made, **{CAPACITY_TOKEN: "1.0.2"}))
    assert seen.is_placed()
    here = a_volume("of-other", gib=6, claim=OTHER, reachable_from={HOSTNAME: "n"})
    seen.put(noted(here, **{CAPACITY_TOKEN: "1.0.2"}))
    assert not seen.is_placed()
    seen.put(capacity(10, counter=2))
    assert seen.is_placed()


def test_a_full_pool_takes_no_volume_though_the_number_beside_it_is_older() -> None:
    """The driver is asked for the number first and for its pools then; the other volume was made
    between the two answers, and its charge finds no byte left to take."""
    volume = recorded(OTHER, gib=6, counter=2)
    older = capacity(0, counter=1)
    older = msgspec.structs.replace(older, capacity="6Gi", maximum_volume_size="6Gi")
    objects = [*WORLD, a_claim("data", gib=5, class_name="fast"), older, OTHER, USER, volume]
    kernel = Kernel(Columns.of(objects))

    found = kernel.decide(WEB)

    assert isinstance(found, NoNode)
    assert set(found.reasons) == {Reason.CAPACITY_RESERVED}
    (finding,) = kernel.explain_node(WEB, "n").findings
    assert (finding.reason, finding.seen) == (Reason.CAPACITY_RESERVED, 0)


def test_where_no_time_is_told_a_volume_without_a_token_counts_as_reported() -> None:
    assert fits(capacity(10), OTHER, USER, recorded(OTHER, gib=6, counter=None))


class Watched:
    """A scheduler's kernel that sees what happens, and the time."""

    def __init__(self, *objects: ApiObject) -> None:
        claim = a_claim("data", gib=5, class_name="fast")
        self.columns = Columns()
        self.kernel = Kernel(self.columns)
        self.kernel.advance(NOON)
        self.put(*WORLD, claim, *objects)

    def put(self, *objects: ApiObject) -> None:
        for each in objects:
            self.columns.put(each)

    def decide(self, pod: Pod) -> None:
        """This scheduler has placed it."""
        self.put(placed(pod))
        self.columns.reservations.decide_pod(pod.key)

    def is_placed(self) -> bool:
        return isinstance(self.kernel.decide(WEB), Placement)


def made_at_noon(volume: PersistentVolume) -> PersistentVolume:
    metadata = msgspec.structs.replace(volume.metadata, creation_timestamp=NOON)
    return msgspec.structs.replace(volume, metadata=metadata)


FOREIGN = noted(a_driver(), **{RESERVATIONS: "linear"})
"""A driver whose capacity csi-provisioner publishes, without tokens and pools."""


def foreign(gib: int) -> CSIStorageCapacity:
    return capacity(gib, counter=None, declared=False)


@pytest.mark.parametrize("counter", [None, 2], ids=["their-volume", "our-volume"])
def test_a_publisher_without_tokens_has_reported_when_its_object_has_changed_twice(
    counter: int | None,
) -> None:
    seen = Watched(foreign(10), FOREIGN, OTHER, USER)
    assert not seen.is_placed()
    seen.put(made_at_noon(recorded(OTHER, gib=6, counter=counter)))
    assert not seen.is_placed()
    # This report may have been asked for before the volume was made: others went meanwhile.
    seen.put(foreign(9))
    assert not seen.is_placed()
    seen.put(noted(foreign(9), comment="no report"))
    assert not seen.is_placed()
    seen.put(foreign(8))
    assert seen.is_placed()


def test_a_publisher_without_tokens_has_reported_after_two_polls() -> None:
    seen = Watched(foreign(10), FOREIGN, OTHER, USER)
    seen.put(made_at_noon(recorded(OTHER, gib=6, counter=None)))
    assert not seen.kernel.advance(NOON + UNORDERED - MOMENT)
    assert not seen.is_placed()
    assert seen.kernel.advance(NOON + UNORDERED) == {"fast"}
    assert seen.is_placed()


def test_volumes_of_long_ago_count_as_reported_when_a_scheduler_starts() -> None:
    volume = made_at_noon(recorded(OTHER, gib=6, counter=None))
    seen = Watched(foreign(10), FOREIGN, OTHER, USER)
    seen.kernel.advance(NOON + UNORDERED)
    seen.put(volume)
    assert seen.is_placed()


def test_a_volume_without_a_token_is_charged_beside_reports_with_tokens() -> None:
    """csi-provisioner has recorded it, and a provisioner of ours took over."""
    seen = Watched(capacity(10), OTHER, USER)
    seen.put(made_at_noon(recorded(OTHER, gib=6, counter=None)))
    seen.put(capacity(10, counter=2))
    assert not seen.is_placed()
    seen.put(capacity(10, counter=3))
    assert seen.is_placed()


def test_a_decision_that_no_provisioner_begins_reserves_for_a_limited_time() -> None:
    seen = Watched(capacity(10), OTHER, USER)
    seen.kernel.advance(NOON)
    assert not seen.kernel.advance(NOON + UNBEGUN - MOMENT)
    assert not seen.is_placed()
    assert seen.kernel.advance(NOON + UNBEGUN) == {"fast"}
    assert seen.is_placed()
    # The claim is written by others meanwhile: that is no new decision.
    seen.put(noted(OTHER, comment="still there"))
    assert seen.is_placed()


def test_an_intent_has_no_deadline() -> None:
    seen = Watched(capacity(10), OTHER, USER, an_intent(OTHER, IntentState.CALLING))
    seen.kernel.advance(NOON)
    assert not seen.kernel.advance(NOON + 10 * UNBEGUN)
    assert not seen.is_placed()


def test_a_decision_that_is_made_again_reserves_again() -> None:
    seen = Watched(capacity(10), OTHER, USER)
    seen.kernel.advance(NOON)
    seen.kernel.advance(NOON + UNBEGUN)
    assert seen.is_placed()
    seen.decide(USER)
    assert not seen.is_placed()


def test_a_pod_that_no_node_takes_does_not_reserve_for_long() -> None:
    seen = Watched(capacity(10), OTHER, USER)
    seen.kernel.advance(NOON)
    seen.columns.reservations.refuse_pod(USER.key)
    assert not seen.is_placed()
    assert seen.kernel.advance(NOON + UNDECIDED)
    assert seen.is_placed()


def test_a_pod_that_has_its_node_reserves_though_another_of_the_claim_is_refused() -> None:
    placed = msgspec.structs.replace(
        a_pod("placed", claims=["other"]),
        spec=msgspec.structs.replace(USER.spec, node_name="n"),
    )
    seen = Watched(capacity(10), OTHER, USER, placed)
    seen.kernel.advance(NOON)
    seen.columns.reservations.refuse_pod(USER.key)
    seen.kernel.advance(NOON + UNDECIDED)
    assert not seen.is_placed()


def test_columns_that_are_made_anew_take_over_what_no_object_tells() -> None:
    volume = made_at_noon(recorded(OTHER, gib=6, counter=None))
    objects = [foreign(10), FOREIGN, OTHER, USER, volume]
    seen = Watched(*objects)
    claim = a_claim("data", gib=5, class_name="fast")

    def is_placed_anew(*changed: ApiObject) -> bool:
        anew = Columns.of([*WORLD, claim, *objects, *changed])
        anew.take_over(seen.columns)
        return isinstance(Kernel(anew).decide(WEB), Placement)

    assert not is_placed_anew()
    seen.put(foreign(9), foreign(8))
    assert is_placed_anew(foreign(8))


def test_a_pod_is_not_kept_out_by_what_is_reserved_for_itself() -> None:
    mine = selected("data", gib=8)
    found = Kernel(Columns.of([*WORLD, capacity(10), mine, WEB])).decide(WEB)
    assert isinstance(found, Placement)


def an_intent(
    claim: PersistentVolumeClaim, state: IntentState, *, number: int = 0, node: str = "n"
) -> Lease:
    intent = Intent(
        driver=DRIVER,
        claim=recorded_claim(claim),
        volume_name=f"pvc-{claim.uid}",
        selected_node=node,
        state=state,
        number=number,
    )
    content = msgspec.json.encode(intent).decode()
    metadata = ObjectMeta(name=intent.name, namespace="plimsoll", annotations={CONTENT: content})
    return Lease(metadata=metadata)


def test_what_is_being_made_is_charged_though_pod_and_claim_are_gone() -> None:
    assert not fits(capacity(10), an_intent(OTHER, IntentState.CALLING))
    assert fits(capacity(10), an_intent(OTHER, IntentState.UNDONE))


def held(claim: PersistentVolumeClaim, hold: str) -> PersistentVolumeClaim:
    found = noted(claim, **{HOLD: hold})
    assert isinstance(found, PersistentVolumeClaim)
    return found


@pytest.mark.parametrize("state", [IntentState.CALLING, IntentState.MADE, IntentState.UNDOING])
def test_a_new_choice_is_charged_beside_an_attempt_for_another_node(state: IntentState) -> None:
    earlier = an_intent(OTHER, state, node="elsewhere")
    assert not fits(capacity(10), earlier, OTHER, USER)
    assert fits(capacity(11), earlier, OTHER, USER)
    begun = an_intent(OTHER, IntentState.CALLING, number=1)
    assert not fits(capacity(10), earlier, begun)
    assert fits(capacity(11), earlier, begun)


def test_an_attempt_that_was_given_up_is_charged_beside_the_next_one_on_the_same_node() -> None:
    given_up = an_intent(OTHER, IntentState.UNDOING)
    begun = an_intent(OTHER, IntentState.CALLING, number=1)
    for next_one in ([OTHER, USER], [OTHER, USER, begun], [begun]):
        assert not fits(capacity(16), given_up, *next_one)
        assert fits(capacity(17), given_up, *next_one)


def test_a_call_for_the_selected_node_is_charged_once() -> None:
    assert fits(capacity(11), OTHER, USER, an_intent(OTHER, IntentState.CALLING))


def test_a_call_for_an_earlier_hold_is_charged_beside_the_choice() -> None:
    """The provisioner undoes it, and begins another volume at once."""
    earlier = an_intent(held(OTHER, "pod/0/make"), IntentState.CALLING)
    assert fits(capacity(11), held(OTHER, "pod/0/make"), USER, earlier)
    assert not fits(capacity(16), held(OTHER, "pod/1/make"), USER, earlier)
    assert fits(capacity(17), held(OTHER, "pod/1/make"), USER, earlier)


def test_a_volume_that_is_given_back_is_charged_once_while_its_node_is_selected() -> None:
    undone = an_intent(held(OTHER, "pod/0/make"), IntentState.UNDOING)
    assert fits(capacity(11), held(OTHER, "pod/0/undo"), USER, undone)
    assert not fits(capacity(10), held(OTHER, "pod/0/undo"), USER, undone)


def test_volumes_of_two_claims_of_one_name_are_charged_each() -> None:
    metadata = msgspec.structs.replace(OTHER.metadata, uid="of the claim before")
    before = msgspec.structs.replace(OTHER, metadata=metadata)
    earlier = an_intent(before, IntentState.CALLING)
    assert not fits(capacity(16), OTHER, USER, earlier)
    assert fits(capacity(17), OTHER, USER, earlier)


def test_a_pod_is_kept_out_by_a_volume_of_its_own_that_is_to_be_deleted() -> None:
    """Its claim does not get this one: the next is made beside it."""
    mine = selected("data", gib=6)
    objects = [*WORLD, capacity(10), mine, WEB]
    wanted = an_intent(mine, IntentState.CALLING)
    assert isinstance(Kernel(Columns.of([*objects, wanted])).decide(WEB), Placement)
    given_up = an_intent(mine, IntentState.UNDOING)
    found = Kernel(Columns.of([*objects, given_up])).decide(WEB)
    assert isinstance(found, NoNode)
    assert set(found.reasons) == {Reason.CAPACITY_RESERVED}


def placed(pod: Pod) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name="n"))


def test_a_node_that_was_selected_here_reserves_for_a_while_though_the_pod_is_gone() -> None:
    """The provisioner looks at the claim alone: it begins when it is there again."""
    seen = Watched(capacity(10), OTHER)
    seen.decide(USER)
    seen.columns.remove(USER)
    seen.kernel.advance(NOON)
    assert not seen.is_placed()
    assert not seen.kernel.advance(NOON + UNBEGUN - MOMENT)
    assert not seen.is_placed()
    assert seen.kernel.advance(NOON + UNBEGUN)
    assert seen.is_placed()


def test_a_pod_that_comes_again_reserves_as_long_as_any_other() -> None:
    seen = Watched(capacity(10), OTHER)
    seen.decide(USER)
    seen.columns.remove(USER)
    seen.put(USER)
    seen.kernel.advance(NOON + UNBEGUN - MOMENT)
    assert not seen.is_placed()


def test_a_node_that_another_writer_selected_reserves_no_longer_than_the_pod_lives() -> None:
    seen = Watched(capacity(10), OTHER, USER)
    seen.columns.remove(USER)
    assert seen.is_placed()


def test_a_node_that_is_taken_off_the_claim_reserves_nothing_though_it_was_selected_here() -> None:
    seen = Watched(capacity(10), OTHER)
    seen.decide(USER)
    seen.columns.remove(USER)
    seen.put(a_claim("other", gib=6, class_name="fast"))
    assert seen.is_placed()
    seen.put(OTHER)
    assert seen.is_placed()


BARE = a_claim("other", gib=6, class_name="fast")


def test_what_may_have_been_begun_is_charged_though_the_node_is_taken_off_before_an_intent() -> (
    None
):
    seen = Watched(capacity(10), OTHER)
    seen.decide(USER)
    seen.put(USER, BARE)
    seen.kernel.advance(NOON)
    assert not seen.is_placed()
    assert seen.kernel.advance(NOON + UNDECIDED)
    assert seen.is_placed()


def test_what_may_have_been_begun_is_charged_only_while_a_live_pod_uses_the_claim() -> None:
    seen = Watched(capacity(10), OTHER)
    seen.decide(USER)
    seen.put(USER, BARE)
    assert not seen.is_placed()
    seen.columns.remove(USER)
    assert seen.is_placed()
    seen.put(USER)
    assert not seen.is_placed()


def test_columns_that_are_made_anew_take_over_what_may_have_been_begun() -> None:
    seen = Watched(capacity(10), OTHER)
    seen.decide(USER)
    seen.put(USER, BARE)
    claim = a_claim("data", gib=5, class_name="fast")
    anew = Columns.of([*WORLD, claim, capacity(10), USER, BARE])
    anew.take_over(seen.columns)
    assert not isinstance(Kernel(anew).decide(WEB), Placement)


def test_the_intent_tells_what_was_begun_before_the_node_was_taken_off() -> None:
    seen = Watched(capacity(10), OTHER)
    seen.decide(USER)
    seen.put(USER, BARE)
    intent = an_intent(OTHER, IntentState.CALLING)
    seen.put(intent)
    assert not seen.is_placed()
    seen.columns.remove(intent)
    assert seen.is_placed()


def test_a_node_that_is_taken_off_after_its_intent_has_ended_reserves_nothing() -> None:
    seen = Watched(capacity(10), OTHER)
    seen.decide(USER)
    seen.put(an_intent(OTHER, IntentState.CALLING), an_intent(OTHER, IntentState.REFUSED))
    seen.put(USER, BARE)
    assert seen.is_placed()


def test_the_classes_are_told_for_which_less_is_reserved() -> None:
    seen = Watched(capacity(10), OTHER, USER)
    reservations = seen.columns.reservations
    assert reservations.take_freed() == frozenset()
    reservations.remove_claim(OTHER.key)
    assert reservations.take_freed() == {"fast"}
    assert reservations.take_freed() == frozenset()


def test_nothing_is_freed_while_the_volume_of_a_claim_without_a_node_may_be_begun() -> None:
    seen = Watched(capacity(10), OTHER)
    seen.decide(USER)
    seen.columns.reservations.take_freed()
    seen.put(USER, BARE)
    assert not seen.columns.reservations.take_freed()
    intent = an_intent(OTHER, IntentState.CALLING)
    seen.put(intent)
    assert not seen.columns.reservations.take_freed()
    seen.columns.remove(intent)
    assert seen.columns.reservations.take_freed() == {"fast"}


def test_drivers_that_declare_nothing_are_not_charged_unless_told_to() -> None:
    plain = capacity(10, declared=False)
    assert fits(plain, OTHER, USER)
    linear = noted(a_driver(), **{RESERVATIONS: "linear"})
    assert not fits(plain, OTHER, USER, linear)
    assert fits(plain, OTHER, USER, linear, gib=4)
    nonsense = noted(a_driver(), **{RESERVATIONS: "always"})
    assert fits(plain, OTHER, USER, nonsense)


def test_the_largest_volume_is_charged_whole_where_disks_are_not_known() -> None:
    linear = noted(a_driver(), **{RESERVATIONS: "linear"})
    assert not fits(capacity(10, 10, declared=False), OTHER, USER, linear)
    assert fits(capacity(10, 10), OTHER, USER, linear)


def test_a_class_may_allow_one_volume_at_a_time() -> None:
    single = noted(a_class("fast"), **{RESERVATIONS: "single-slot"})
    assert isinstance(single, StorageClass)
    assert not fits(capacity(100), OTHER, USER, single, gib=1)
    off = noted(a_class("fast"), **{RESERVATIONS: "none"})
    assert fits(capacity(10), OTHER, USER, off)


def test_columns_follow_reservations_as_they_come_and_go() -> None:
    columns = Columns.of([*WORLD, a_claim("data", gib=5, class_name="fast"), capacity(10)])
    kernel = Kernel(columns)

    def is_placed() -> bool:
        return isinstance(kernel.decide(WEB), Placement)

    assert is_placed()
    columns.put(OTHER)
    assert is_placed()
    columns.put(USER)
    assert not is_placed()
    volume = recorded(OTHER, gib=6, counter=2)
    columns.put(volume)
    assert not is_placed()
    columns.put(capacity(10, counter=2))
    assert is_placed()
    columns.remove(volume)
    assert not is_placed()
    columns.remove(USER)
    assert is_placed()
    assert kernel.columns.reservations.by_key == {}


def test_every_rule_tells_the_pool_that_is_reserved() -> None:
    objects = [*WORLD, a_claim("data", gib=5, class_name="fast"), capacity(10), OTHER, USER]
    (finding,) = Kernel(Columns.of(objects)).explain_node(WEB, "n").findings
    assert finding.reason is Reason.CAPACITY_RESERVED
    assert (finding.wanted, finding.seen) == (5 * GIB, 4 * GIB)
    assert finding.about is not None
    assert finding.about.key == ObjectKey(DRIVER, "disks")


# What another writer has selected


def chosen(node: str) -> PersistentVolumeClaim:
    found = noted(OTHER, **{SELECTED_NODE: node})
    assert isinstance(found, PersistentVolumeClaim)
    return found


UNCHOSEN = a_claim("other", gib=6, class_name="fast")


@pytest.mark.parametrize(
    "again",
    [
        pytest.param([chosen("elsewhere"), OTHER], id="the-node-is-selected-again"),
        pytest.param([UNCHOSEN, OTHER], id="the-node-is-taken-off-and-selected-again"),
        pytest.param([a_pod("another", claims=["other"])], id="another-pod-comes"),
        pytest.param([placed(a_pod("another", claims=["other"]))], id="a-pod-comes-with-its-node"),
    ],
)
def test_another_writer_reserves_for_one_deadline_in_the_life_of_a_claim(
    again: list[ApiObject],
) -> None:
    seen = Watched(capacity(10), OTHER, USER)
    seen.kernel.advance(NOON)
    seen.kernel.advance(NOON + UNBEGUN - MOMENT)
    seen.put(*again)
    assert not seen.is_placed()
    seen.kernel.advance(NOON + UNBEGUN)
    assert seen.is_placed()
    seen.put(*again)
    assert seen.is_placed()
    seen.columns.remove(USER)
    seen.put(USER)
    assert seen.is_placed()


def test_an_attempt_that_ends_gives_another_writer_no_more_time() -> None:
    seen = Watched(capacity(10), OTHER, USER)
    seen.kernel.advance(NOON)
    begun = an_intent(OTHER, IntentState.CALLING)
    seen.put(begun)
    seen.kernel.advance(NOON + UNBEGUN)
    assert not seen.is_placed()
    seen.columns.remove(begun)
    assert seen.is_placed()


def test_what_this_scheduler_decides_reserves_though_another_writer_has_used_up_the_time() -> None:
    seen = Watched(capacity(10), OTHER, USER)
    seen.kernel.advance(NOON)
    seen.kernel.advance(NOON + UNBEGUN)
    seen.decide(USER)
    assert not seen.is_placed()
    # And what another writer makes of that does not.
    seen.put(chosen("elsewhere"), OTHER)
    assert seen.is_placed()


# Decisions of this scheduler that nothing comes of


def test_later_decisions_reserve_for_a_short_time_where_no_provisioner_ever_begins() -> None:
    seen = Watched(capacity(10), OTHER)
    seen.decide(USER)
    seen.kernel.advance(NOON)
    assert not seen.is_placed()
    assert seen.kernel.advance(NOON + UNBEGUN) == {"fast"}
    assert seen.is_placed()
    now = NOON + UNBEGUN
    for _ in range(2):
        seen.decide(USER)
        assert not seen.is_placed()
        seen.kernel.advance(now)
        # A provisioner that runs has begun by then.
        assert not seen.kernel.advance(now + UNDECIDED - MOMENT)
        assert not seen.is_placed()
        now += UNDECIDED
        assert seen.kernel.advance(now) == {"fast"}
        assert seen.is_placed()


@pytest.mark.parametrize(
    "between",
    [
        pytest.param([], id="at-once"),
        pytest.param([BARE], id="the-node-is-taken-off"),
        pytest.param([chosen("elsewhere"), OTHER], id="another-writer-selects-another-node"),
    ],
)
def test_decisions_again_and_again_reserve_no_longer_than_one(between: list[ApiObject]) -> None:
    """But for the moment that each has at least, and the one after its node was taken off."""
    seen = Watched(capacity(10), OTHER)
    half, now = UNBEGUN / 2, NOON
    for _ in range(2):
        seen.decide(USER)
        seen.kernel.advance(now)
        assert not seen.is_placed()
        now += half
        seen.kernel.advance(now)
        seen.put(*between)
        seen.put(OTHER)
    seen.decide(USER)
    seen.kernel.advance(now)
    assert not seen.is_placed()
    seen.kernel.advance(now + UNDECIDED)
    assert seen.is_placed()


def test_attempts_that_are_refused_again_and_again_give_a_claim_no_more_time() -> None:
    """The provisioner calls, and the driver says each time that it will never work."""
    seen = Watched(capacity(10), OTHER)
    seen.decide(USER)
    half, now = UNBEGUN / 2, NOON
    begun = an_intent(OTHER, IntentState.CALLING)
    for _ in range(2):
        seen.kernel.advance(now)
        assert not seen.is_placed()
        now += half
        seen.kernel.advance(now)
        seen.put(begun)
        assert not seen.is_placed()
        seen.columns.remove(begun)
    assert seen.is_placed()
    seen.put(begun)
    assert not seen.is_placed(), "there may be a volume"


def test_the_time_in_which_an_intent_told_of_a_claim_is_not_counted() -> None:
    seen = Watched(capacity(10), OTHER)
    seen.decide(USER)
    seen.kernel.advance(NOON)
    begun = an_intent(OTHER, IntentState.CALLING)
    seen.put(begun)
    now = NOON + 10 * UNBEGUN
    seen.kernel.advance(now)
    seen.columns.remove(begun)
    seen.put(BARE, OTHER)
    seen.decide(USER)
    seen.kernel.advance(now)
    assert not seen.kernel.advance(now + UNBEGUN - MOMENT)
    assert not seen.is_placed()
    assert seen.kernel.advance(now + UNBEGUN)
    assert seen.is_placed()


@pytest.mark.parametrize(
    "meanwhile",
    [
        # A provisioner that stores no intents does so when its driver refuses.
        pytest.param(BARE, id="its-node-is-taken-off"),
        pytest.param(chosen("elsewhere"), id="another-writer-selects-another-node"),
    ],
)
def test_the_time_in_which_a_decision_does_not_stand_is_not_counted(
    meanwhile: PersistentVolumeClaim,
) -> None:
    seen = Watched(capacity(10), OTHER)
    seen.decide(USER)
    seen.kernel.advance(NOON)
    seen.put(USER, meanwhile)
    seen.kernel.advance(NOON)
    now = NOON + 10 * UNBEGUN
    seen.kernel.advance(now)
    assert seen.is_placed()
    seen.put(OTHER)
    seen.decide(USER)
    seen.kernel.advance(now)
    assert not seen.kernel.advance(now + UNBEGUN - MOMENT)
    assert not seen.is_placed()


@pytest.mark.parametrize("is_seen_to_go", [False, True], ids=["not-seen-to-go", "seen-to-go"])
def test_a_claim_that_is_made_anew_is_decided_on_as_any_other(*, is_seen_to_go: bool) -> None:
    seen = Watched(capacity(10), OTHER)
    seen.decide(USER)
    seen.kernel.advance(NOON)
    seen.kernel.advance(NOON + UNBEGUN)
    if is_seen_to_go:
        seen.columns.remove(OTHER)
    seen.put(msgspec.structs.replace(OTHER, metadata=replaced_uid(OTHER)))
    seen.decide(USER)
    seen.kernel.advance(NOON + UNBEGUN)
    assert not seen.kernel.advance(NOON + 2 * UNBEGUN - MOMENT)
    assert not seen.is_placed()


def test_a_claim_whose_volume_is_gone_again_is_decided_on_as_any_other() -> None:
    seen = Watched(capacity(10), OTHER)
    seen.decide(USER)
    seen.kernel.advance(NOON)
    seen.kernel.advance(NOON + UNBEGUN)
    volume = recorded(OTHER, gib=6, counter=1)
    seen.put(volume)
    seen.columns.remove(volume)
    seen.decide(USER)
    seen.kernel.advance(NOON + UNBEGUN)
    seen.kernel.advance(NOON + 2 * UNBEGUN - MOMENT)
    assert not seen.is_placed()


def test_columns_that_are_made_anew_know_how_much_time_a_claim_has_had() -> None:
    seen = Watched(capacity(10), OTHER)
    seen.decide(USER)
    seen.kernel.advance(NOON)
    seen.kernel.advance(NOON + UNBEGUN)
    claim = a_claim("data", gib=5, class_name="fast")
    anew = Columns.of([*WORLD, claim, capacity(10), USER, OTHER])
    anew.take_over(seen.columns)
    kernel = Kernel(anew)
    anew.reservations.decide_pod(USER.key)
    kernel.advance(NOON + UNBEGUN)
    assert not isinstance(kernel.decide(WEB), Placement)
    kernel.advance(NOON + UNBEGUN + UNDECIDED)
    assert isinstance(kernel.decide(WEB), Placement)


def test_a_claim_that_is_made_anew_reserves_as_any_other() -> None:
    seen = Watched(capacity(10), OTHER, USER)
    seen.kernel.advance(NOON)
    seen.kernel.advance(NOON + UNBEGUN)
    seen.put(msgspec.structs.replace(OTHER, metadata=replaced_uid(OTHER)))
    assert not seen.is_placed()


def replaced_uid(claim: PersistentVolumeClaim) -> ObjectMeta:
    return msgspec.structs.replace(claim.metadata, uid="of the next claim")


def test_what_another_writer_selected_reserves_only_where_it_could_be_made() -> None:
    assert fits(capacity(5), OTHER, USER)
    assert not fits(capacity(6), OTHER, USER)
    assert fits(capacity(5, 5), OTHER, USER)
    seen = Watched(capacity(5), OTHER)
    seen.decide(USER)
    assert not seen.is_placed()


def test_what_could_not_be_made_is_charged_when_there_is_room_for_it() -> None:
    seen = Watched(capacity(5), OTHER, USER)
    assert seen.is_placed()
    seen.put(capacity(10))
    assert not seen.is_placed()


def test_a_gated_pod_reserves_nothing() -> None:
    gates = (SchedulingGate(name="example.com/later"),)
    spec = msgspec.structs.replace(USER.spec, scheduling_gates=gates)
    gated = msgspec.structs.replace(USER, spec=spec)
    assert fits(capacity(10), OTHER, gated)
    assert not fits(capacity(10), OTHER, gated, an_intent(OTHER, IntentState.CALLING))
    seen = Watched(capacity(10), OTHER, gated)
    seen.put(USER)
    assert not seen.is_placed()


# What is left to an administrator

LEFT = [IntentState.SUSPECT, IntentState.STUCK]


@pytest.mark.parametrize("is_gone", [False, True], ids=["claim-lives", "claim-is-gone"])
@pytest.mark.parametrize("state", LEFT)
def test_what_is_left_to_an_administrator_is_charged_until_reports_count_it_in(
    state: IntentState, *, is_gone: bool
) -> None:
    rest = [] if is_gone else [UNCHOSEN]
    seen = Watched(capacity(10), *rest, an_intent(OTHER, IntentState.UNDOING))
    assert not seen.is_placed()
    seen.put(an_intent(OTHER, state))
    assert not seen.is_placed()
    # This report may have been asked for before the volume was made.
    seen.put(capacity(9))
    assert not seen.is_placed()
    seen.put(capacity(8))
    assert seen.is_placed()
    seen.put(an_intent(OTHER, IntentState.UNDOING))
    assert not seen.is_placed()


@pytest.mark.parametrize("state", LEFT)
def test_what_is_left_to_an_administrator_counts_as_reported_after_two_polls(
    state: IntentState,
) -> None:
    seen = Watched(capacity(10), an_intent(OTHER, state))
    seen.kernel.advance(NOON)
    assert not seen.kernel.advance(NOON + UNORDERED - MOMENT)
    assert not seen.is_placed()
    assert seen.kernel.advance(NOON + UNORDERED)
    assert seen.is_placed()
    seen.put(an_intent(OTHER, state))
    assert seen.is_placed()


def test_the_next_volume_is_charged_beside_one_in_doubt() -> None:
    in_doubt = an_intent(OTHER, IntentState.SUSPECT)
    assert not fits(capacity(16), OTHER, USER, in_doubt)
    assert fits(capacity(17), OTHER, USER, in_doubt)


def test_columns_that_are_made_anew_know_since_when_an_attempt_is_left() -> None:
    left = an_intent(OTHER, IntentState.SUSPECT)
    seen = Watched(capacity(10), left)
    seen.put(capacity(9), capacity(8))
    claim = a_claim("data", gib=5, class_name="fast")
    anew = Columns.of([*WORLD, claim, capacity(8), left])
    anew.take_over(seen.columns)
    assert isinstance(Kernel(anew).decide(WEB), Placement)
