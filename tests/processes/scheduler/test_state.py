"""What the scheduler assumes, and that it takes back exactly what it assumed."""

import msgspec
import pytest
from hypothesis import given, strategies as st

from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.store import StoreChange
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.scheduling.binding.bind_volumes import Choice
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel, Placement
from plimsoll.decide.scheduling.reasons import Finding, Reason
from plimsoll.processes.scheduler.running import following
from plimsoll.processes.scheduler.state import SchedulerState
from tests.builders import HOSTNAME, a_claim, a_class, a_node, a_pod, a_volume
from tests.decide.scheduling.builders import a_local_class, flags_by_node, versioned

POD = a_pod(claims=["data", "more"])


class Watched:
    """A state that the scheduler decides on, fed as a watch feeds it."""

    def __init__(self, *objects: ApiObject) -> None:
        self.state = SchedulerState()
        self.kernel = Kernel(Columns())
        self.state.on_change(following(self.kernel.columns))
        for object_ in objects:
            self.see(object_)

    def see(self, object_: ApiObject) -> None:
        stores = self.state.stores
        match object_:
            case Pod():
                if change := stores.pods.put(object_.key, object_):
                    self.state.observe_pod(change)
            case PersistentVolume():
                if change_ := stores.volumes.put(object_.key, object_):
                    self.state.observe_other(change_)
            case PersistentVolumeClaim():
                if change__ := stores.claims.put(object_.key, object_):
                    self.state.observe_other(change__)
            case _:
                self.state.observe_other(StoreChange(object_.key, None, object_))

    def decide(self, pod: Pod = POD) -> Placement:
        decision = self.kernel.decide(pod)
        assert isinstance(decision, Placement)
        return decision

    def assume(self, pod: Pod = POD) -> Choice:
        decision = self.decide(pod)
        choice = self.state.assume(pod, decision.volumes, decision.node)
        assert isinstance(choice, Choice)
        self.state.place(pod, decision.node)
        return choice

    def picture(self) -> tuple[object, ...]:
        """Everything that decisions about the pod depend on."""
        columns = self.kernel.columns
        return (
            [columns.claim(ObjectKey("default", name)) for name in ("data", "more")],
            columns.volume("volume-1"),
            columns.pods_on("node-1"),
            flags_by_node(self.kernel, POD),
        )


def one_static_one_made() -> Watched:
    volume = a_volume(class_name="local", reachable_from={HOSTNAME: "node-1"})
    return Watched(
        a_node(),
        a_node("node-2"),
        a_local_class("local"),
        a_class(),
        versioned(volume, 5),
        versioned(a_claim("data", class_name="local"), 6),
        versioned(a_claim("more"), 7),
        POD,
    )


def test_what_was_decided_is_believed_before_it_is_written() -> None:
    watched = one_static_one_made()
    choice = watched.assume()
    assert choice.node == "node-1"
    columns = watched.kernel.columns
    volume, claim = columns.volume("volume-1"), columns.claim(ObjectKey("default", "more"))
    assert volume is not None
    assert volume.spec.claim == ObjectKey("default", "data")
    assert claim is not None
    assert claim.annotations[SELECTED_NODE] == "node-1"
    assert [pod.name for pod in columns.pods_on("node-1")] == ["web-0"]


def test_what_was_observed_does_not_change_by_assuming() -> None:
    watched = one_static_one_made()
    watched.assume()
    observed = watched.state.stores
    volume, claim = observed.volume("volume-1"), observed.claim(ObjectKey("default", "more"))
    assert volume is not None
    assert volume.spec.claim is None
    assert claim is not None
    assert SELECTED_NODE not in claim.annotations


def test_taking_a_decision_back_leaves_nothing_of_it() -> None:
    watched = one_static_one_made()
    before = watched.picture()
    choice = watched.assume()
    assert watched.picture() != before
    watched.state.forget(choice)
    watched.state.displace(POD)
    assert watched.picture() == before
    assert not watched.state.stores.volumes.assumed
    assert not watched.state.stores.claims.assumed


@given(made=st.integers(0, 2))
def test_of_a_half_written_decision_only_the_rest_is_taken_back(made: int) -> None:
    watched = one_static_one_made()
    choice = watched.assume()
    watched.state.forget_unwritten(choice, made)
    volumes, claims = watched.state.stores.volumes.assumed, watched.state.stores.claims.assumed
    assert (len(volumes), len(claims)) == (min(made, 1), max(made - 1, 0))


def test_a_decision_on_what_has_changed_meanwhile_is_refused_whole() -> None:
    watched = one_static_one_made()
    decision = watched.decide()
    watched.see(versioned(a_claim("more"), 8))
    before = watched.picture()
    refused = watched.state.assume(POD, decision.volumes, decision.node)
    assert isinstance(refused, Finding)
    assert refused.reason is Reason.CHANGED_MEANWHILE
    assert watched.picture() == before


def test_a_newer_version_from_the_watch_replaces_what_was_assumed() -> None:
    watched = one_static_one_made()
    watched.assume()
    watched.see(versioned(a_volume(class_name="local"), 9))
    volume = watched.kernel.columns.volume("volume-1")
    assert volume is not None
    assert volume.spec.claim is None


@pytest.mark.parametrize("node", ["node-1", "node-2"])
def test_the_watch_has_the_last_word_on_where_a_pod_is(node: str) -> None:
    watched = one_static_one_made()
    watched.state.place(POD, "node-1")
    placed = msgspec.structs.replace(POD, spec=msgspec.structs.replace(POD.spec, node_name=node))
    watched.see(placed)
    columns = watched.kernel.columns
    assert [pod.name for pod in columns.pods_on(node)] == ["web-0"]
    watched.state.displace(POD)
    assert [pod.name for pod in columns.pods_on(node)] == ["web-0"]


def test_a_note_on_a_pod_does_not_undo_where_it_was_decided_to_go() -> None:
    watched = one_static_one_made()
    watched.state.place(POD, "node-1")
    status = msgspec.structs.replace(POD.status, message="note")
    watched.see(msgspec.structs.replace(POD, status=status))
    assert len(watched.kernel.columns.pods_on("node-1")) == 1


def test_a_decision_taken_back_leaves_a_later_pod_of_the_same_name_where_it_was_put() -> None:
    watched = one_static_one_made()
    watched.state.place(POD, "node-1")
    metadata = msgspec.structs.replace(POD.metadata, uid="another-uid")
    namesake = msgspec.structs.replace(POD, metadata=metadata)
    watched.see(namesake)
    watched.state.place(namesake, "node-2")
    assert watched.state.displace(POD) is None
    columns = watched.kernel.columns
    assert [pod.uid for pod in columns.pods_on("node-2")] == ["another-uid"]
    watched.state.displace(namesake)
    assert [*columns.pods_on("node-2")] == []
