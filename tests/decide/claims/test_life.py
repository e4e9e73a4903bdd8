"""The life of claims and volumes, whatever is written half, read late or done in between.

Invariants, after every step: *no volume serves two claims*, at once or one after the other, and
*used data is never given up*. Once nothing disturbs any more: everything comes to rest, *bound
pairs agree*, and no claim waits beside a volume that would suit it.
"""

import copy
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given, settings, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import BIND_COMPLETED, BOUND_BY_CONTROLLER, PROVISIONED_BY, YES
from plimsoll.decide.claims.claim import decide_claim
from plimsoll.decide.claims.match import Search, mismatches
from plimsoll.decide.claims.volume import decide_volume
from plimsoll.decide.plan import Plan
from tests.builders import DRIVER, a_class
from tests.decide.claims.builders import a_world, put
from tests.decide.claims.world import CLAIM, VOLUME, ConflictError, World, look_after

ENOUGH_ROUNDS = 6
# What fits is listed more often: the interesting things happen once something is bound.
SIZES = st.sampled_from([1, 1, 1, 2, 3])
CLASSES = st.sampled_from(["now", "now", "now", "now", "wait", ""])
MODES = st.sampled_from(["Filesystem"] * 5 + ["Block"])
WRITES_BEFORE_CRASH = st.sampled_from([4, 4, 4, 3, 2, 1, 0])


def an_empty_world() -> World:
    return a_world(
        a_class("now", provisioner=DRIVER, binding_mode="Immediate"),
        a_class("wait", provisioner=DRIVER),
    )


def a_claim_document(name: str, uid: str, spec: Document) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": "default", "name": name, "uid": uid},
        "spec": spec,
    }


def a_volume_document(name: str, spec: Document) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": spec,
    }


def claims(world: World) -> list[PersistentVolumeClaim]:
    found = (world.read_claim(key) for key in world.keys(CLAIM))
    return [claim for claim in found if claim]


def volumes(world: World) -> list[PersistentVolume]:
    found = (world.volume(key.name) for key in world.keys(VOLUME))
    return [volume for volume in found if volume]


def look_after_everything(world: World) -> None:
    for kind in (VOLUME, CLAIM):
        for key in world.keys(kind):
            look_after(world, kind, key)


def settle(world: World) -> None:
    """Look after everything until nothing is written any more."""
    for _ in range(ENOUGH_ROUNDS):
        made = len(world.writes)
        look_after_everything(world)
        if len(world.writes) == made:
            return
    raise AssertionError("it never comes to rest", world.writes[-12:])


def check_bound_pairs_agree(world: World) -> None:
    """Claim and volume name each other and both say so, or the claim says that it is lost."""
    bound = [claim for claim in claims(world) if BIND_COMPLETED in claim.annotations]
    kept = [claim for claim in bound if claim.status.phase != "Lost"]
    assert len({claim.spec.volume_name for claim in kept}) == len(kept)
    for claim in kept:
        volume = world.volume(claim.spec.volume_name)
        assert volume is not None
        assert volume.spec.claim_ref is not None
        assert volume.spec.claim_ref.uid == claim.uid
        assert (claim.status.phase, volume.status.phase) == ("Bound", "Bound")


def check_no_claim_waits_in_vain(world: World) -> None:
    for claim in claims(world):
        if claim.spec.volume_name or BIND_COMPLETED in claim.annotations:
            continue
        class_ = world.storage_class(claim.storage_class)
        waits = class_ is not None and class_.waits_for_consumer
        search = Search.of(claim, waits_for_scheduler=waits)
        assert [volume.name for volume in volumes(world) if not mismatches(search, volume)] == []


@st.composite
def half_written(draw: st.DrawFn) -> World:
    """Claims and volumes that name each other, or not, in any way that was ever seen."""
    world = an_empty_world()
    claim_names, volume_names = ["c0", "c1"], ["v0", "v1", "v2"]
    for name in claim_names:
        document = a_claim_document(
            name, f"uid-{name}", draw(a_claim_spec([*volume_names, "gone"]))
        )
        document["metadata"]["annotations"] = draw(_some(BIND_COMPLETED, BOUND_BY_CONTROLLER))
        document["status"] = {"phase": draw(st.sampled_from(["", "Pending", "Bound", "Lost"]))}
        put(world, CLAIM, document)
    for name in volume_names:
        document = a_volume_document(name, draw(a_volume_spec([*claim_names, "gone"])))
        document["metadata"]["annotations"] = draw(_some(BOUND_BY_CONTROLLER))
        if draw(st.booleans()):
            document["metadata"]["annotations"][PROVISIONED_BY] = DRIVER
        phases = ["", "Pending", "Available", "Bound", "Released", "Failed"]
        document["status"] = {"phase": draw(st.sampled_from(phases))}
        put(world, VOLUME, document)
    return world


def _some(*names: str) -> st.SearchStrategy[dict[str, str]]:
    return st.sets(st.sampled_from(names)).map(lambda chosen: dict.fromkeys(chosen, YES))


@st.composite
def a_claim_spec(draw: st.DrawFn, volume_names: list[str]) -> Document:
    spec: Document = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": f"{draw(SIZES)}Gi"}},
        "storageClassName": draw(CLASSES),
        "volumeMode": draw(MODES),
    }
    if name := draw(st.sampled_from(["", *volume_names])):
        spec["volumeName"] = name
    return spec


@st.composite
def a_volume_spec(draw: st.DrawFn, claim_names: list[str]) -> Document:
    spec: Document = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": f"{draw(SIZES)}Gi"},
        "storageClassName": draw(CLASSES),
        "volumeMode": draw(MODES),
        "persistentVolumeReclaimPolicy": draw(st.sampled_from(["Retain", "Delete"])),
        "csi": {"driver": DRIVER, "volumeHandle": "h"},
    }
    if name := draw(st.sampled_from(["", *claim_names])):
        uid = draw(st.sampled_from(["", f"uid-{name}", "uid-former"]))
        spec["claimRef"] = {"namespace": "default", "name": name} | ({"uid": uid} if uid else {})
    return spec


@given(world=half_written())
def test_every_half_written_state_is_finished_or_undone(world: World) -> None:
    settle(world)
    check_bound_pairs_agree(world)
    check_no_claim_waits_in_vain(world)


@dataclass(frozen=True)
class Late:
    """A decision on what was true once; its writes come when they come."""

    plan: Plan


class ClaimsAndVolumesLive(RuleBasedStateMachine):
    """Users come and go, the controller crashes between writes and believes old news."""

    volume_names = Bundle("volume_names")
    claim_names = Bundle("claim_names")
    decided = Bundle("decided")

    def __init__(self) -> None:
        super().__init__()
        self.world = an_empty_world()
        self.made = 0
        self.served: dict[str, str] = {}
        """The uid of the claim that each volume, by name, was ever bound to."""

    def new_name(self, prefix: str) -> str:
        self.made += 1
        return f"{prefix}{self.made}"

    @rule(target=volume_names, spec=a_volume_spec([]))
    def admin_adds_a_volume(self, spec: Document) -> str:
        name = self.new_name("v")
        put(self.world, VOLUME, a_volume_document(name, spec))
        return name

    @rule(target=volume_names, spec=a_volume_spec([]), claim=claim_names)
    def admin_keeps_a_volume_for_a_claim(self, spec: Document, claim: str) -> str:
        name = self.new_name("v")
        kept = {"claimRef": {"namespace": "default", "name": claim}}
        put(self.world, VOLUME, a_volume_document(name, spec | kept))
        return name

    @rule(target=claim_names, spec=a_claim_spec([]))
    def user_adds_a_claim(self, spec: Document) -> str:
        name = self.new_name("c")
        put(self.world, CLAIM, a_claim_document(name, f"uid-{name}", spec))
        return name

    @rule(target=claim_names, spec=a_claim_spec([]), volume=volume_names)
    def user_asks_for_a_volume_by_name(self, spec: Document, volume: str) -> str:
        name = self.new_name("c")
        named = spec | {"volumeName": volume}
        put(self.world, CLAIM, a_claim_document(name, f"uid-{name}", named))
        return name

    @rule(name=claim_names)
    def user_replaces_a_claim_by_one_of_the_same_name(self, name: str) -> None:
        old = self.world.documents.pop((CLAIM, ObjectKey("default", name)), None)
        if old is not None:
            spec = {key: value for key, value in old["spec"].items() if key != "volumeName"}
            put(self.world, CLAIM, a_claim_document(name, self.new_name("uid-again-"), spec))

    @rule(name=claim_names)
    def user_deletes_a_claim(self, name: str) -> None:
        self.world.documents.pop((CLAIM, ObjectKey("default", name)), None)

    @rule(name=volume_names)
    def admin_deletes_a_volume(self, name: str) -> None:
        self.world.documents.pop((VOLUME, ObjectKey("", name)), None)

    @rule(name=claim_names, number=WRITES_BEFORE_CRASH)
    def controller_looks_at_a_claim_and_crashes(self, name: str, number: int) -> None:
        claim = self.world.read_claim(ObjectKey("default", name))
        if claim is not None:
            self.enact(decide_claim(claim, self.world).plan, number)

    @rule(name=volume_names, number=WRITES_BEFORE_CRASH)
    def controller_looks_at_a_volume_and_crashes(self, name: str, number: int) -> None:
        volume = self.world.volume(name)
        if volume is not None:
            self.enact(decide_volume(volume, self.world).plan, number)

    @rule()
    def controller_looks_after_everything_once(self) -> None:
        look_after_everything(self.world)

    @rule(target=decided, name=claim_names)
    def controller_decides_on_a_claim_but_is_slow(self, name: str) -> Late:
        claim = self.world.read_claim(ObjectKey("default", name))
        return Late(decide_claim(claim, self.world).plan if claim else Plan(reason=""))

    @rule(target=decided, name=volume_names)
    def controller_decides_on_a_volume_but_is_slow(self, name: str) -> Late:
        volume = self.world.volume(name)
        return Late(decide_volume(volume, self.world).plan if volume else Plan(reason=""))

    @rule(late=decided, number=WRITES_BEFORE_CRASH)
    def slow_writes_arrive(self, late: Late, number: int) -> None:
        self.enact(late.plan, number)

    def enact(self, plan: Plan, number: int) -> None:
        """The first writes of a plan; one that was overtaken stops it, as the API does."""
        try:
            self.world.enact(replace(plan, writes=plan.writes[:number]))
        except (ConflictError, KeyError):
            return

    @invariant()
    def no_volume_serves_two_claims(self) -> None:
        done = [c for c in claims(self.world) if BIND_COMPLETED in c.annotations]
        named = Counter(claim.spec.volume_name for claim in done)
        assert all(number == 1 for number in named.values())

    @invariant()
    def data_of_one_claim_are_never_shown_to_another(self) -> None:
        for claim in claims(self.world):
            if BIND_COMPLETED in claim.annotations:
                assert self.served.setdefault(claim.spec.volume_name, claim.uid) == claim.uid

    @invariant()
    def used_data_is_never_given_up(self) -> None:
        for claim in claims(self.world):
            volume = self.world.volume(claim.spec.volume_name)
            if BIND_COMPLETED in claim.annotations and volume is not None:
                reference = volume.spec.claim_ref
                assert reference is not None
                assert reference.uid == claim.uid
                assert volume.status.phase not in ("Available", "Released", "Failed")

    def teardown(self) -> None:
        world = copy.deepcopy(self.world)
        settle(world)
        check_bound_pairs_agree(world)
        check_no_claim_waits_in_vain(world)


TestClaimsAndVolumesLive: Any = ClaimsAndVolumesLive.TestCase
TestClaimsAndVolumesLive.settings = settings(
    max_examples=100, stateful_step_count=30, deadline=None
)
