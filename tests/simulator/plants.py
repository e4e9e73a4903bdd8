"""Bugs that the simulator has to find: each function makes one in the program of its process.

They are called in a process of their own, before a run (`tools.sim.workers.Run.plant`), and are
never taken back.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from plimsoll.api.meta import ObjectKey
from plimsoll.api.storage import CSINode
from plimsoll.apiserver.storage.collection import Change, Collection
from plimsoll.apiserver.storage.revisions import Revisions
from plimsoll.apiserver.storage.watch_hub import WatchHub
from plimsoll.cache import informer
from plimsoll.cache.assume import AssumingStore
from plimsoll.cache.store import Store, StoreChange
from plimsoll.cache.watch import Action, Replace
from plimsoll.decide.ceph.takeover import fencing
from plimsoll.decide.ceph.takeover.served_domains import decide_served_domains
from plimsoll.decide.ceph.takeover.takeovers import find_takeovers
from plimsoll.decide.ceph.takeover.view import TakeoverView
from plimsoll.decide.claims import claim as claim_decisions, protection
from plimsoll.decide.claims.operations import Decision
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.plan import Plan
from plimsoll.decide.provisioning import outcomes
from plimsoll.decide.scheduling.columns import attachments
from plimsoll.decide.scheduling.columns.attachables import volume_limits
from plimsoll.decide.scheduling.refusals import Refusals
from plimsoll.decide.scheduling.reservations.deadlines import ReservationDeadlines
from plimsoll.decide.scheduling.rules.volume_binding import bound_claims
from plimsoll.enact import enactor
from plimsoll.enact.lease_store import KubeLeaseStore
from plimsoll.processes.controller.in_process.intents import InProcessIntents
from plimsoll.processes.controller.takeover.loop import DomainTakeovers, TakeoverLook
from plimsoll.processes.driver.epochs import EpochGate
from plimsoll.processes.driver.node.withholding import Withholding
from plimsoll.processes.driver.records import VolumeRecord
from plimsoll.processes.scheduler.state import SchedulerState
from plimsoll.runtime.leading.fence import Fence
from plimsoll.runtime.leading.leader import LeaseRecord, StoredLease
from plimsoll.simulator.invariants import Invariant
from plimsoll.wire.kind import key_of, version_of
from tests.simulator import placement_plants, rollback_plants


def _plant(owner: object, name: str, bug: object) -> None:
    """In the place of what is there; a plant whose place has gone is an error of the test."""
    assert hasattr(owner, name)
    setattr(owner, name, bug)


def drop_preconditions() -> None:
    """Writes go through although another writer was first."""
    _plant(enactor, "_conditional", lambda write, _version: write.patch)


def assume_nothing() -> None:
    """The scheduler does not count a pod before the watch shows it on its node."""
    _plant(SchedulerState, "place", lambda *_: None)


def forget_assumed_volumes() -> None:
    """The scheduler does not believe its own choice of volumes and nodes for claims."""

    def is_newest(self: AssumingStore[Any], object_: Any) -> bool:
        newest = self.observed().get(key_of(object_))
        return newest is not None and version_of(newest) == version_of(object_)

    _plant(AssumingStore, "assume_version", is_newest)


def forget_what_earlier_controllers_began() -> None:
    """A controller does not look for the intents of the one before it, neither when it begins nor
    later."""

    async def look_away(_intents: InProcessIntents) -> None:
        return None

    async def find_none(_intents: InProcessIntents) -> list[ObjectKey]:
        return []

    _plant(InProcessIntents, "load", look_away)
    _plant(InProcessIntents, "load_strays", find_none)


def leave_half_bindings() -> None:
    """A claim that names its volume, and is not Bound yet, stays so."""
    finished = claim_decisions._decide_completed  # noqa: SLF001 - the place of the bug

    def leave(claim: Any, view: Any) -> Decision:
        volume = view.volume(claim.spec.volume_name) if claim.spec.volume_name else None
        reference = None if volume is None else volume.spec.claim_ref
        if reference is not None and reference.uid == claim.uid:
            return Decision(plan=Plan(reason=BindingReason.BOUND))
        return finished(claim, view)

    _plant(claim_decisions, "_decide_completed", leave)


def ignore_the_election() -> None:
    """A process acts on although its lease has ended, and drivers let it."""
    _plant(Fence, "passes", lambda _: True)
    _plant(EpochGate, "check", lambda *_: None)


def overwrite_the_lease() -> None:
    """A renewal goes through although another copy has taken the lease meanwhile."""
    update = KubeLeaseStore.update

    async def force(self: KubeLeaseStore, record: LeaseRecord, _version: str) -> StoredLease:
        return await update(self, record, "")

    _plant(KubeLeaseStore, "update", force)


def ignore_moved_claims() -> None:
    """The volume of a node that is not selected any more is recorded all the same."""
    _plant(outcomes, "_is_to_be_moved", lambda *_: False)


def choose_the_refused_node_again() -> None:
    """The scheduler forgets which nodes have refused a pod."""
    _plant(Refusals, "add", lambda _self, _pod, refusal: refusal)


def iterate_a_set() -> None:
    """The API server tells watchers of a change in the order of a set."""

    def publish(self: WatchHub, collection: Collection, changes: list[Change]) -> None:
        watchers = self._watchers.get(collection.name, ())
        by_name = {str(number): watcher for number, watcher in enumerate(watchers)}
        for name in frozenset(by_name):
            by_name[name].offer(changes)

    _plant(WatchHub, "publish", publish)


def acknowledge_before_the_disk() -> None:
    """The API server answers before the change is durable."""

    async def at_once(_: Revisions) -> None:
        pass

    _plant(Revisions, "durable", at_once)


def drop_watch_events() -> None:
    """Of what a watch tells, one change in ten is missed."""
    carry_out = informer.Informer._carry_out  # noqa: SLF001 - the place of the bug
    numbers = count(1)

    def most(self: informer.Informer[Any], action: Action[Any]) -> None:
        if isinstance(action, Replace) or next(numbers) % 10:
            carry_out(self, action)

    _plant(informer.Informer, "_carry_out", most)


def keep_deleted_objects_after_a_list() -> None:
    """What was deleted while a watch was broken stays in the cache."""
    replace = Store.replace

    def keep(self: Store[Any], objects: Mapping[ObjectKey, Any]) -> list[StoreChange[Any]]:
        return replace(self, {**self.snapshot().objects, **objects})

    _plant(Store, "replace", keep)


def release_claims_in_use() -> None:
    """A claim that is deleted goes although a pod uses it."""
    _plant(protection, "holds", lambda *_: False)


def ignore_the_reach_of_volumes() -> None:
    """The scheduler puts a pod on nodes that do not reach the volumes of its claims."""
    _plant(bound_claims, "_reach", lambda _, columns: (columns.index.alive, 0))


def count_one_volume_too_many() -> None:
    """The scheduler lets a node have one volume more than its limit."""

    def more(csi_node: CSINode | None) -> dict[str, int]:
        return {driver: limit + 1 for driver, limit in volume_limits(csi_node).items()}

    _plant(attachments, "volume_limits", more)


def reserve_anew_with_each_decision() -> None:
    """A claim that no provisioner acts upon reserves as long after each decision on it."""
    _plant(ReservationDeadlines, "pause", ReservationDeadlines.forget)
    _plant(ReservationDeadlines, "allow", lambda self, wait, _least: self.forget(wait))


def advertise_before_the_fence() -> None:
    """Nodes of other zones serve a lost zone while its own nodes can still write.

    What is fenced stays so, and a node gets its labels once: otherwise labels would come and go
    with every look, and the run would not end in its time.
    """
    fence, label = DomainTakeovers._fence, DomainTakeovers._label  # noqa: SLF001 - the place of the bug

    async def too_late(self: DomainTakeovers, look: TakeoverLook, view: TakeoverView) -> Any:
        early = replace(view, fenced=(*view.fenced, *find_takeovers(view).sources))
        if any(change.added for change in decide_served_domains(early).changes):
            await label(self, look, early)
        return await fence(self, look, view)

    _plant(DomainTakeovers, "_fence", too_late)


def release_at_once() -> None:
    """A zone that leaves the map is released although other nodes still serve it."""
    _plant(fencing, "find_dependence", lambda *_: "")


def leave_fenced_nodes_alone() -> None:
    """What is mounted on a node stays writable when its zone is fenced."""

    async def look_away(_: Withholding, _volume: VolumeRecord) -> None:
        return None

    _plant(Withholding, "withhold", look_away)


@dataclass(frozen=True, slots=True)
class Plant:
    make: Callable[[], None]
    seed: int
    """That was seen to find it."""
    invariant: Invariant
    """That it violates."""

    @property
    def name(self) -> str:
        return self.make.__name__.replace("_", " ")


PLANTS = (
    Plant(overwrite_the_lease, 1, Invariant.EVERYTHING_RUNS),
    Plant(assume_nothing, 12, Invariant.EVERYTHING_RUNS),
    Plant(forget_assumed_volumes, 6, Invariant.ONE_CHOICE),
    Plant(leave_half_bindings, 1, Invariant.EVERYTHING_RUNS),
    Plant(forget_what_earlier_controllers_began, 4, Invariant.NO_LEAKS),
    Plant(ignore_the_election, 5, Invariant.LEADERS_ONLY),
    Plant(acknowledge_before_the_disk, 1, Invariant.DURABLE_WRITES),
    Plant(drop_preconditions, 60, Invariant.ONE_CLAIM_PER_VOLUME),
    Plant(ignore_moved_claims, 16, Invariant.SELECTED_NODE_HONOURED),
    Plant(choose_the_refused_node_again, 8, Invariant.NOT_REFUSED_FOR_EVER),
    Plant(drop_watch_events, 1, Invariant.EVERYTHING_RUNS),
    Plant(keep_deleted_objects_after_a_list, 44, Invariant.CACHES_ARE_TRUE),
    Plant(release_claims_in_use, 1, Invariant.CLAIMS_IN_USE),
    Plant(ignore_the_reach_of_volumes, 1, Invariant.EVERYTHING_RUNS),
    Plant(count_one_volume_too_many, 12, Invariant.EVERYTHING_RUNS),
    Plant(reserve_anew_with_each_decision, 82986, Invariant.EVERYTHING_RUNS),
    Plant(advertise_before_the_fence, 7, Invariant.FENCED_FIRST),
    Plant(release_at_once, 7, Invariant.FENCED_FIRST),
    Plant(leave_fenced_nodes_alone, 7, Invariant.FENCED_NODES_READ),
    Plant(rollback_plants.skip_the_intent, 4, Invariant.NO_LEAKS),
    Plant(rollback_plants.never_say_undo, 1, Invariant.NO_HOLDS_LEFT),
    Plant(rollback_plants.forget_to_release, 3, Invariant.EVERYTHING_RUNS),
    Plant(rollback_plants.keep_groups_of_pods_that_are_gone, 1, Invariant.NO_HOLDS_LEFT),
    Plant(rollback_plants.forget_volumes_that_are_held_back, 1, Invariant.NO_LEAKS),
    Plant(rollback_plants.use_the_same_name_again, 7, Invariant.NO_LOSSES),
    Plant(rollback_plants.record_volumes_that_are_held, 3, Invariant.HELD_BACK),
    Plant(rollback_plants.clear_before_the_undo_is_durable, 1, Invariant.UNDONE_FIRST),
    Plant(rollback_plants.take_earlier_answers, 20, Invariant.ONLY_FORWARD),
    Plant(rollback_plants.go_back_behind_the_commit_point, 27, Invariant.ONLY_FORWARD),
    Plant(rollback_plants.look_for_no_handles, 24, Invariant.NO_LOSSES),
    Plant(rollback_plants.report_with_the_newest_token, 51, Invariant.NEVER_ASKED_FOR_MORE),
    Plant(rollback_plants.set_the_mark_again, 165, Invariant.NO_USED_DATA_ROLLED_BACK),
    Plant(rollback_plants.repair_claims_that_are_held, 72, Invariant.HOLDS_ARE_THE_SCHEDULERS),
    Plant(rollback_plants.tell_volumes_of_nodes_by_name, 124, Invariant.NO_LEAKS),
    Plant(rollback_plants.believe_the_highest_number_alone, 26, Invariant.EVERYTHING_RUNS),
    Plant(placement_plants.put_pods_together, 20024, Invariant.KEPT_APART),
    Plant(placement_plants.ignore_the_skew, 8, Invariant.SPREAD_EVENLY),
    Plant(placement_plants.evict_equals, 20025, Invariant.PREEMPTED_FOR_MORE),
    Plant(
        placement_plants.evict_where_volumes_are_out_of_reach, 20025, Invariant.PROMISED_IN_REACH
    ),
)
"""Those that violate an invariant. `iterate_a_set` makes two runs of a seed differ."""
