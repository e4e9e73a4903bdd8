"""Each check of volumes that are held back can fail, and does so for its own reason."""

from datetime import UTC, datetime

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import Intent, IntentState, StoredIntent, lease_document
from plimsoll.decide.scheduling.binding import groups
from plimsoll.decide.scheduling.binding.groups import Group, GroupedClaim, GroupState, StoredGroup
from plimsoll.simulator.choices import DriverCall
from plimsoll.simulator.engine.loop import VirtualLoop
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.simulator.held_back import HeldBack
from plimsoll.wire.transport import Request, Response

UID = "uid-of-the-claim"
VERSION = "7"
MADE = {f"pvc-{UID}": DriverCall(sent_at=2.0, answered_at=3.0)}


def a_claim(hold: str = "", node: str = "", volume: str = "") -> Document:
    annotations = {HOLD: hold, SELECTED_NODE: node}
    kept = {name: value for name, value in annotations.items() if value}
    metadata: Document = {"namespace": "default", "name": "data", "uid": UID, "annotations": kept}
    metadata["resourceVersion"] = VERSION
    return {"metadata": metadata, "spec": {"volumeName": volume} if volume else {}}


def a_group(state: GroupState) -> Document:
    group = Group(
        namespace="default",
        pod="app",
        pod_uid="pod",
        node="node-a",
        attempt=0,
        deadline=datetime(2030, 1, 31, tzinfo=UTC),
        claims=(GroupedClaim("data", UID),),
        state=state,
    )
    return groups.lease_document(StoredGroup(group=group), "kube-system")


def an_intent(state: IntentState, node: str = "") -> Document:
    """`node` is the one whose own provisioner has stored it; empty: that of all nodes."""
    intent = Intent(
        driver="zonal.example",
        claim=a_claim(),
        volume_name=f"pvc-{UID}",
        state=state,
        hold="pod/0",
        volume_id="id-1",
        node=node,
    )
    return lease_document(StoredIntent(intent=intent), "storage")


def written(held: HeldBack, name: str, *, status: int = 200, **metadata: str) -> str:
    """A process of this name has the answer to its write of the claim."""
    path = "/api/v1/namespaces/default/persistentvolumeclaims/data"
    body = msgspec.json.encode({"metadata": {"resourceVersion": VERSION, **metadata}})
    response = Response(status=status, body=body)
    loop = VirtualLoop()
    try:
        sender = SimulatedProcess(loop, name)
        return held.answered(sender, Request(method="PATCH", path=path), response)
    finally:
        loop.close()


def recorded(held: HeldBack, name: str = "provisioner-zonal.sim-0") -> str:
    volume = {"metadata": {"name": f"pvc-{UID}"}, "spec": {"claimRef": {"uid": UID}}}
    body = msgspec.json.encode(volume)
    request = Request(method="POST", path="/api/v1/persistentvolumes", body=body)
    loop = VirtualLoop()
    try:
        return held.recorded(SimulatedProcess(loop, name), request, MADE)
    finally:
        loop.close()


@pytest.mark.parametrize(
    ("hold", "since", "sender", "is_wrong"),
    [
        pytest.param("pod/0/make", 1.0, "provisioner-zonal.sim-0", True, id="held all the time"),
        pytest.param("pod/0/make", 4.0, "provisioner-zonal.sim-0", False, id="held since then"),
        pytest.param("", 1.0, "provisioner-zonal.sim-0", False, id="not held"),
        pytest.param("pod/0/make", 1.0, "csi-provisioner-zonal.sim", False, id="csi-provisioner"),
    ],
)
def test_no_volume_is_recorded_while_it_is_held_back(
    hold: str, since: float, sender: str, *, is_wrong: bool
) -> None:
    held = HeldBack()
    held.claim_changed(since, None, a_claim(hold, "node-a"))
    assert bool(recorded(held, sender)) is is_wrong


@pytest.mark.parametrize(
    ("before", "after", "is_wrong"),
    [
        pytest.param(a_claim("pod/0/make", "node-a"), a_claim(), True, id="cleared at once"),
        pytest.param(a_claim("pod/0/undo", "node-a"), a_claim(), False, id="undone first"),
        pytest.param(a_claim("pod/0/make", "node-a"), a_claim("", "node-a"), False, id="released"),
        pytest.param(a_claim("", "node-a"), a_claim(), False, id="never held"),
    ],
)
def test_no_node_is_cleared_before_the_hold_says_undo(
    before: Document, after: Document, *, is_wrong: bool
) -> None:
    assert bool(HeldBack().claim_changed(1.0, before, after)) is is_wrong


NODES = ("node-a", "node-b")
HELD = a_claim("pod/0/make", "node-a")


@pytest.mark.parametrize(
    ("sender", "before", "after", "is_wrong"),
    [
        pytest.param("controller-0", HELD, a_claim("pod/0/make"), True, id="a repair rule"),
        pytest.param("provisioner-a-0", HELD, a_claim("pod/0/make"), True, id="a provisioner"),
        pytest.param("controller-0", HELD, a_claim("", "node-a"), True, id="the hold alone"),
        pytest.param("controller-0", HELD, HELD, False, id="another field"),
        pytest.param("controller-0", a_claim("", "node-a"), a_claim(), False, id="not held"),
        pytest.param("scheduler-0", HELD, a_claim("", "node-a"), False, id="a scheduler"),
        pytest.param("user", HELD, a_claim(), False, id="a user"),
        pytest.param("csi-provisioner-a", HELD, a_claim(), False, id="csi-provisioner"),
    ],
)
def test_only_schedulers_change_node_and_hold_of_a_claim_that_is_held(
    sender: str, before: Document, after: Document, *, is_wrong: bool
) -> None:
    held = HeldBack()
    held.claim_changed(1.0, before, after)
    assert not written(held, sender, status=409)
    assert bool(written(held, sender)) is is_wrong


def test_the_write_with_which_a_claim_goes_is_not_taken_for_the_one_before() -> None:
    held = HeldBack()
    held.claim_changed(1.0, HELD, a_claim())
    assert not written(held, "controller-0", deletionTimestamp="2030-01-31T00:00:00Z")
    assert written(held, "controller-0")


@pytest.mark.parametrize(
    ("state", "claim", "is_wrong"),
    [
        pytest.param(GroupState.PUBLISHING, a_claim("", "node-a"), True, id="published"),
        pytest.param(GroupState.PREPARING, a_claim("", "node-a"), False, id="not yet published"),
        pytest.param(GroupState.PUBLISHING, a_claim("", "node-b"), False, id="another node"),
        pytest.param(GroupState.PUBLISHING, a_claim("", "node-a", "own"), False, id="taken"),
        pytest.param(GroupState.PUBLISHING, None, False, id="the claim is gone"),
    ],
)
def test_no_volume_is_given_back_after_its_group_was_published(
    state: GroupState, claim: Document | None, *, is_wrong: bool
) -> None:
    held = HeldBack()
    claims = {} if claim is None else {"default/data": claim}
    assert not held.record_changed(a_group(state), claims, {}, NODES)
    assert not held.record_changed(an_intent(IntentState.MADE), claims, {}, NODES)
    assert bool(held.record_changed(an_intent(IntentState.UNDOING), claims, {}, NODES)) is is_wrong
    assert not held.record_changed(an_intent(IntentState.UNDOING), claims, {}, NODES), (
        "it is told once"
    )


@pytest.mark.parametrize(("node", "is_wrong"), [("node-a", True), ("node-b", False)])
def test_what_another_nodes_provisioner_made_before_may_be_given_back(
    node: str, *, is_wrong: bool
) -> None:
    held, claims = HeldBack(), {"default/data": a_claim("", "node-a")}
    assert not held.record_changed(a_group(GroupState.PUBLISHING), claims, {}, NODES)
    undoing = an_intent(IntentState.UNDOING, node)
    assert bool(held.record_changed(undoing, claims, {}, NODES)) is is_wrong


def test_volumes_of_a_node_that_is_gone_may_be_given_back() -> None:
    held, claims = HeldBack(), {"default/data": a_claim("", "node-a")}
    assert not held.record_changed(a_group(GroupState.PUBLISHING), claims, {}, NODES)
    assert not held.record_changed(an_intent(IntentState.UNDOING), claims, {}, ())


@pytest.mark.parametrize(
    ("handle", "is_wrong"),
    [
        pytest.param("id-1", True, id="this volume"),
        pytest.param("id-2", False, id="another volume, of csi-provisioner"),
    ],
)
def test_a_volume_is_not_given_back_while_it_is_what_its_claim_has(
    handle: str, *, is_wrong: bool
) -> None:
    held, name = HeldBack(), f"pvc-{UID}"
    claims = {"default/data": a_claim("", "node-a", name)}
    volumes: dict[str, Document] = {name: {"spec": {"csi": {"volumeHandle": handle}}}}
    assert not held.record_changed(a_group(GroupState.PUBLISHING), claims, volumes, NODES)
    assert (
        bool(held.record_changed(an_intent(IntentState.UNDOING), claims, volumes, NODES))
        is is_wrong
    )
