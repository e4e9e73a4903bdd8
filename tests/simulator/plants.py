"""Bugs that the simulator has to find: each function makes one in the program of its process.

They are called in a process of their own, before a run (`tools.sim.workers.Run.plant`), and are
never taken back.
"""

import builtins
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from plimsoll.api.meta import ObjectKey
from plimsoll.api.storage import CSINode
from plimsoll.apiserver.storage.revisions import Revisions
from plimsoll.cache import informer
from plimsoll.cache.store import Store, StoreChange
from plimsoll.cache.watch import Action, Replace
from plimsoll.decide.claims import claim as claim_decisions, protection
from plimsoll.decide.claims.operations import Decision
from plimsoll.decide.claims.reasons import BindingReason
from plimsoll.decide.plan import Plan
from plimsoll.decide.provisioning import outcomes
from plimsoll.decide.scheduling.columns import attachments
from plimsoll.decide.scheduling.columns.attachables import volume_limits
from plimsoll.decide.scheduling.rules.volume_binding import bound_claims
from plimsoll.enact import enactor
from plimsoll.enact.lease_store import KubeLeaseStore
from plimsoll.processes.driver.epochs import EpochGate
from plimsoll.processes.node import pods
from plimsoll.processes.scheduler.refusals import RefusalLearner
from plimsoll.processes.scheduler.state import SchedulerState
from plimsoll.runtime.leading.fence import Fence
from plimsoll.runtime.leading.leader import LeaseRecord, StoredLease


def _plant(owner: object, name: str, bug: object) -> None:
    """In the place of what is there; a plant whose place has gone is an error of the test."""
    assert hasattr(owner, name) or hasattr(builtins, name)
    setattr(owner, name, bug)


def drop_preconditions() -> None:
    """Writes go through although another writer was first."""
    _plant(enactor, "_conditional", lambda write, _version: write.patch)


def assume_nothing() -> None:
    """The scheduler does not count a pod before the watch shows it on its node."""
    _plant(SchedulerState, "place", lambda *_: None)


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
    _plant(RefusalLearner, "nodes_refused_to", lambda *_: [])


def iterate_a_set() -> None:
    """A node looks at its leftover pods in the order of a set."""
    _plant(pods, "sorted", list)


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


@dataclass(frozen=True, slots=True)
class Plant:
    make: Callable[[], None]
    seed: int
    """That was seen to find it."""

    @property
    def name(self) -> str:
        return self.make.__name__.replace("_", " ")


PLANTS = (
    Plant(overwrite_the_lease, 2),
    Plant(assume_nothing, 12),
    Plant(leave_half_bindings, 5),
    Plant(ignore_the_election, 35),
    Plant(acknowledge_before_the_disk, 10),
    Plant(drop_watch_events, 16),
    Plant(release_claims_in_use, 25),
    Plant(ignore_the_reach_of_volumes, 27),
    Plant(count_one_volume_too_many, 12),
)
"""Those that violate an invariant. The tenth, `iterate_a_set`, makes two runs of a seed differ."""

NOT_FOUND_YET = (
    drop_preconditions,
    ignore_moved_claims,
    choose_the_refused_node_again,
    keep_deleted_objects_after_a_list,
)
"""No seed is known that finds these: scenarios or invariants have to become stronger."""
