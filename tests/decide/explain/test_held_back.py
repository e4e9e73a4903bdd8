"""What is told of volumes that are made together, or given back."""

import dataclasses
from datetime import timedelta

import pytest
from msgspec.structs import replace

from plimsoll.api.core import Lease
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.explain.claim import explain_claim
from plimsoll.decide.explain.evidence import Evidence
from plimsoll.decide.explain.held_back import (
    GroupStory,
    HeldState,
    find_story,
    find_story_of_claim,
    held_elsewhere,
    tell_hold,
)
from plimsoll.decide.explain.pod import PodExplanation, PodState, explain_pod
from plimsoll.decide.provisioning import intents
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import Intent, IntentState, StoredIntent, recorded_claim
from plimsoll.decide.scheduling.binding import groups
from plimsoll.decide.scheduling.binding.groups import (
    EndedAttempt,
    Group,
    GroupedClaim,
    GroupState,
    StoredGroup,
)
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.reasons import Reason, SeenObject
from tests.builders import DRIVER, a_claim, a_class, a_node, a_pod
from tests.decide.explain.witnesses import NOW
from tests.decide.scheduling.builders import annotated, bound

POD = a_pod(claims=["first", "second"])
FIRST, SECOND = a_claim("first"), a_claim("second")
GROUP = Group(
    namespace="default",
    pod=POD.name,
    pod_uid=POD.uid,
    node="node-1",
    attempt=2,
    deadline=NOW + timedelta(minutes=8),
    claims=(GroupedClaim("first", FIRST.uid), GroupedClaim("second", SECOND.uid)),
)
NODES = (a_node("node-1"), a_node("node-2"))


def held(claim: PersistentVolumeClaim, action: str = "make") -> PersistentVolumeClaim:
    return annotated(claim, {SELECTED_NODE: "node-1", HOLD: f"{POD.uid}/2/{action}"})


def a_group(group: Group = GROUP, namespace: str = "kube-system") -> Lease:
    return from_document(Lease, groups.lease_document(StoredGroup(group=group), namespace))


def an_intent(
    claim: PersistentVolumeClaim,
    state: IntentState,
    *,
    attempt: int = 2,
    number: int = 0,
    refusal: str = "",
    volume_id: str = "",
    node: str = "",
) -> Lease:
    intent = Intent(
        driver=DRIVER,
        claim=recorded_claim(claim),
        volume_name=f"pvc-{claim.uid}",
        state=state,
        number=number,
        hold=f"{POD.uid}/{attempt}",
        refusal=refusal,
        volume_id=volume_id,
        node=node,
    )
    document = intents.lease_document(StoredIntent(intent=intent), "csi")
    return from_document(Lease, document)


def evidence(*leases: Lease) -> Evidence:
    believed = frozenset({"kube-system", "csi"})
    return Evidence(now=NOW, events=(), leases=leases, asked_namespaces=believed)


def columns(*objects: ApiObject) -> Columns:
    return Columns.of((*NODES, a_class(), *(objects or (held(FIRST), held(SECOND)))))


def story(*leases: Lease, claims: tuple[ApiObject, ...] = (), pod: Pod = POD) -> GroupStory:
    found = find_story(pod, columns(*claims), evidence(*leases))
    assert found is not None
    return found


def explained(*leases: Lease, claims: tuple[ApiObject, ...] = (), pod: Pod = POD) -> PodExplanation:
    return explain_pod(pod, Kernel(columns(*claims)), evidence(*leases))


def test_a_pod_without_a_record_has_no_story() -> None:
    assert find_story(POD, columns(), evidence()) is None
    assert find_story(POD, columns(), Evidence(now=NOW)) is None, "leases may not be read"


def test_a_record_of_an_earlier_pod_of_the_same_name_is_not_told() -> None:
    other = replace(GROUP, pod_uid="earlier")
    assert find_story(POD, columns(), evidence(a_group(other))) is None


def test_a_group_that_a_tenant_wrote_is_not_told() -> None:
    forged = a_group(replace(GROUP, node="forged"), "tenant")
    assert story(forged, a_group()).group == GROUP
    assert find_story(POD, columns(), evidence(forged)) is None


def test_each_held_claim_tells_what_its_provisioner_has_noted() -> None:
    made = an_intent(FIRST, IntentState.MADE)
    refused = an_intent(SECOND, IntentState.REFUSED, refusal="no room")
    told = story(a_group(), made, refused)
    first, second = told.claims
    assert (first.state, first.is_held, first.provisioner) == (HeldState.MADE, True, DRIVER)
    assert first.noted_in == SeenObject("Lease", made.key)
    assert (second.state, second.refusal) == (HeldState.REFUSED, "no room")
    assert told.noted_in == SeenObject("Lease", ObjectKey("kube-system", GROUP.name))


def test_what_was_noted_for_an_earlier_attempt_is_not_taken_for_this_one() -> None:
    undone = an_intent(FIRST, IntentState.UNDONE, attempt=1, volume_id="v")
    told = story(a_group(), undone)
    first, second = told.claims
    assert (first.state, first.noted_in) == (HeldState.NOTHING_NOTED, None)
    assert (first.number, second.number) == (0, None)
    assert told.given_back == [first]


def test_of_several_intents_of_a_claim_the_newest_counts() -> None:
    newer = an_intent(FIRST, IntentState.MADE, number=1)
    older = an_intent(FIRST, IntentState.UNDONE, attempt=1, volume_id="v")
    for leases in ((older, newer), (newer, older)):
        first = story(a_group(), *leases).claims[0]
        assert (first.state, first.number) == (HeldState.MADE, 1)


@pytest.mark.parametrize("number", [0, 1], ids=["same-number", "higher-number"])
def test_of_intents_of_several_nodes_the_one_of_this_attempt_counts(number: int) -> None:
    here = an_intent(FIRST, IntentState.MADE, node="node-1")
    elsewhere = an_intent(
        FIRST, IntentState.UNDONE, attempt=1, number=number, volume_id="v", node="node-2"
    )
    for leases in ((here, elsewhere), (elsewhere, here)):
        told = story(a_group(), *leases)
        assert told.claims[0].state is HeldState.MADE
        assert told.claims[0].noted_in == SeenObject("Lease", here.key)
        assert told.given_back == [told.claims[0]]


@pytest.mark.parametrize(
    ("intent", "is_given_back"),
    [
        pytest.param(an_intent(FIRST, IntentState.UNDONE, volume_id="v"), True, id="undone"),
        pytest.param(an_intent(FIRST, IntentState.CALLING, number=2), True, id="undone-before"),
        pytest.param(an_intent(FIRST, IntentState.UNDONE), False, id="no-volume-was-made"),
        pytest.param(an_intent(FIRST, IntentState.UNDOING, volume_id="v"), False, id="not-yet"),
        pytest.param(an_intent(FIRST, IntentState.REFUSED), False, id="refused"),
    ],
)
def test_given_back_is_what_was_made_and_deleted(intent: Lease, *, is_given_back: bool) -> None:
    assert bool(story(a_group(), intent).given_back) is is_given_back


def test_a_claim_that_is_bound_or_gone_needs_no_intent() -> None:
    first, second = story(a_group(), claims=(bound(FIRST, "volume-1"),)).claims
    assert (first.state, second.state) == (HeldState.BOUND, HeldState.CLAIM_GONE)


MADE = (an_intent(FIRST, IntentState.MADE), an_intent(SECOND, IntentState.MADE))
ANEW = "and chooses a node anew for attempt 3; it prefers other nodes than node-1."


@pytest.mark.parametrize(
    ("group", "noted", "told"),
    [
        pytest.param(
            GROUP,
            MADE[:1],
            "The scheduler waits for the volumes of second until 2026-05-01T12:08:00Z; if one is "
            "refused, it has the others given back.",
            id="one-is-missing",
        ),
        pytest.param(
            GROUP,
            MADE,
            "The scheduler has all volumes recorded, and binds the pod to node node-1.",
            id="all-are-made",
        ),
        pytest.param(
            GROUP,
            (MADE[0], an_intent(SECOND, IntentState.REFUSED, refusal="no room")),
            "The volume of second cannot be had here: the scheduler has what was made given back, "
            f"{ANEW}",
            id="one-is-refused",
        ),
        pytest.param(
            replace(GROUP, deadline=NOW),
            MADE[:1],
            f"The time of the attempt is up: the scheduler has what was made given back, {ANEW}",
            id="time-is-up",
        ),
        pytest.param(
            replace(GROUP, state=GroupState.PUBLISHING),
            MADE,
            "When all are bound, the scheduler binds the pod to node node-1.",
            id="publishing",
        ),
        pytest.param(
            replace(GROUP, state=GroupState.UNDOING),
            MADE[:1],
            "When provisioners have deleted the volumes, the scheduler takes node node-1 off the "
            f"claims, {ANEW}",
            id="being-given-back",
        ),
        pytest.param(
            replace(GROUP, state=GroupState.UNDOING),
            (),
            f"The scheduler takes node node-1 off the claims, {ANEW}",
            id="all-are-given-back",
        ),
        pytest.param(
            replace(GROUP, state=GroupState.UNDONE),
            (),
            f"The scheduler {ANEW.removeprefix('and ')}",
            id="undone",
        ),
    ],
)
def test_the_next_step_names_the_process_that_takes_it(
    group: Group, noted: tuple[Lease, ...], told: str
) -> None:
    assert story(a_group(group), *noted).next_step == told


def test_nothing_more_is_tried_for_a_pod_that_goes_away() -> None:
    leaving = replace(POD, metadata=replace(POD.metadata, deletion_timestamp=NOW))
    committed = story(a_group(replace(GROUP, state=GroupState.PUBLISHING)), *MADE, pod=leaving)
    assert committed.next_step == (
        "The pod is gone or being deleted; its claims keep the volumes that were made."
    )
    told = story(a_group(), MADE[0], pod=leaving).next_step
    assert told == (
        "The scheduler has what was made given back; the pod is gone or being deleted, and nothing "
        "is tried for it any more."
    )


def test_of_a_pod_that_was_just_placed_only_the_record_is_left() -> None:
    placed = a_pod(claims=["first", "second"], node="node-1")
    publishing = a_group(replace(GROUP, state=GroupState.PUBLISHING))
    found = explained(publishing, claims=(bound(FIRST, "a"), bound(SECOND, "b")), pod=placed)
    assert found.held_back is not None
    assert found.held_back.next_step == (
        "The pod is on node node-1: the scheduler deletes this record."
    )


def test_an_attempt_that_ended_before_its_volumes_were_deleted_says_so() -> None:
    undone = a_group(replace(GROUP, state=GroupState.UNDONE))
    assert story(undone, an_intent(FIRST, IntentState.UNDOING)).message == (
        "Attempt 2 on node node-1 has ended; that the volumes of first are deleted is not "
        "confirmed yet."
    )
    assert story(undone, an_intent(FIRST, IntentState.UNDONE)).message == (
        "Attempt 2 on node node-1 has ended, and nothing of it is left there."
    )


def test_the_pod_says_how_far_its_attempt_is() -> None:
    found = explained(a_group(), MADE[0])
    assert found.state is PodState.WAITS_FOR_VOLUMES
    assert found.is_well
    assert found.message == (
        "Node node-1 is selected (attempt 2): the volumes of first, second are made there "
        "together, and none is recorded before all are there."
    )
    undoing = explained(a_group(replace(GROUP, state=GroupState.UNDOING)), MADE[0])
    assert undoing.message == (
        "Attempt 2 on node node-1 has ended: the scheduler has what was made there for "
        "first, second deleted."
    )


def test_the_node_of_the_last_attempt_is_the_last_to_be_tried_next() -> None:
    for node, other in (("node-1", "node-2"), ("node-2", "node-1")):
        ended = a_group(replace(GROUP, node=node, state=GroupState.UNDONE, why="no room"))
        assert explained(ended, claims=(FIRST, SECOND)).best == other


def test_the_attempt_before_is_told_while_the_next_one_runs() -> None:
    before = EndedAttempt(attempt=1, node="node-2", why="no room", claim="second")
    assert story(a_group(replace(GROUP, before=before))).group.ended == before


# Claims that are held


OTHER = a_pod("other", claims=["first"])


def test_a_claim_that_is_held_for_another_pod_names_that_pod() -> None:
    found = explained(a_group(), pod=OTHER)
    (trouble,) = found.findings
    assert trouble.reason is Reason.SELECTED_ELSEWHERE
    assert trouble.claim == FIRST.key
    assert trouble.sentence == (
        "claim first is held for pod default/web-0 on node node-1 (attempt 2), which gets its "
        "volumes first"
    )
    assert found.held_back is None


@pytest.mark.parametrize(
    "leases",
    [
        pytest.param((), id="a-hold-that-a-tenant-forged"),
        pytest.param((a_group(replace(GROUP, state=GroupState.UNDONE)),), id="a-group-that-ended"),
        pytest.param((a_group(replace(GROUP, attempt=3)),), id="a-hold-of-another-attempt"),
    ],
)
def test_a_hold_that_no_group_stands_behind_holds_nothing(leases: tuple[Lease, ...]) -> None:
    assert [*held_elsewhere(OTHER, columns(), evidence(*leases))] == []


def claim_story(*leases: Lease, action: str = "make") -> str:
    claim = held(FIRST, action)
    found = find_story_of_claim(claim, [POD], columns(claim, held(SECOND)), evidence(*leases))
    assert found is not None
    told = found.find(claim.key)
    assert told is not None
    return tell_hold(found, told)


FOR = "Held for pod default/web-0 on node node-1 (attempt 2): "


def test_a_held_claim_tells_for_which_pod_and_what_it_waits_for() -> None:
    calling = an_intent(FIRST, IntentState.CALLING)
    refused = an_intent(FIRST, IntentState.REFUSED, refusal="no room")
    assert claim_story(a_group()) == f"{FOR}waits for {DRIVER} to begin."
    assert claim_story(a_group(), calling) == f"{FOR}{DRIVER} is making its volume."
    assert claim_story(a_group(), MADE[0]) == (
        f"{FOR}its volume is made, and recorded once those of second are made."
    )
    assert claim_story(a_group(), *MADE) == (
        f"{FOR}its volume is made; {DRIVER} records it when the hold is taken off."
    )
    assert claim_story(a_group(), refused) == f"{FOR}{DRIVER} refused it: no room"


def test_a_held_claim_of_an_attempt_that_ended_tells_that_its_volume_goes() -> None:
    undoing = a_group(replace(GROUP, state=GroupState.UNDOING))
    for state in (IntentState.CALLING, IntentState.MADE, IntentState.UNDOING):
        assert claim_story(undoing, an_intent(FIRST, state), action="undo") == (
            f"{FOR}the attempt has ended, and {DRIVER} deletes the volume."
        )


def test_a_hold_is_told_also_where_leases_may_not_be_read() -> None:
    kernel = Kernel(columns(held(FIRST)))
    found = explain_claim(FIRST.key, [POD], kernel, Evidence(now=NOW))
    assert found.message == (
        f"Held for the pod of uid {POD.uid} (attempt 2); what it waits for is not known, since "
        "leases may not be listed."
    )


def test_a_hold_that_belongs_to_no_group_is_told_with_what_ends_it() -> None:
    kernel = Kernel(columns(held(FIRST)))
    found = explain_claim(FIRST.key, [], kernel, evidence(MADE[0]))
    assert found.message == (
        f"Held for the pod of uid {POD.uid} (attempt 2), but no group is known that holds it. "
        f"While annotation {HOLD} is there, a provisioner of Plimsoll records no volume; the "
        "scheduler takes it off within minutes, unless the pod waits for another scheduler, or "
        "take it off by hand."
    )


def test_claims_that_went_after_the_commit_point_are_waited_for() -> None:
    publishing = a_group(replace(GROUP, state=GroupState.PUBLISHING))
    found = explained(publishing, claims=(bound(FIRST, "a"),))
    assert found.held_back is not None
    assert found.held_back.next_step == (
        "Claim second is gone: the pod waits until it is created again."
    )


def test_a_held_claim_is_explained_with_its_group() -> None:
    kernel = Kernel(columns(held(FIRST), held(SECOND)))
    found = explain_claim(FIRST.key, [POD], kernel, evidence(a_group(), *MADE))
    assert found.message.startswith(FOR)
    assert found.held_back is not None
    assert found.held_back.group == GROUP


def test_a_volume_that_is_made_and_held_back_is_not_overdue() -> None:
    handed_over = annotated(held(FIRST), {"volume.kubernetes.io/storage-provisioner": DRIVER})
    long_ago = {FIRST.key: NOW - timedelta(minutes=9)}
    kernel = Kernel(columns(handed_over, held(SECOND)))

    def codes(*leases: Lease) -> list[Reason]:
        seen = dataclasses.replace(evidence(*leases), handed_over_at=long_ago)
        return [trouble.reason for trouble in explain_pod(POD, kernel, seen).findings]

    assert codes(a_group()) == [Reason.PROVISIONING_OVERDUE]
    assert codes(a_group(), MADE[0]) == []
