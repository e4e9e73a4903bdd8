"""ControllerRevisions, for the loops whose objects keep a history in them."""

from typing import TypeVar

from plimsoll.api.meta import ApiObject
from plimsoll.api.workloads import ControllerRevision
from plimsoll.decide.workloads.owned import REVISIONS, Membership, decide_membership
from plimsoll.processes.controller.workloads.owners import (
    BY_CONTROLLER,
    OwnerLoop,
    controller_of,
    orphans_of,
)
from plimsoll.reconcile.observed import Cached

W = TypeVar("W", bound=ApiObject)
T = TypeVar("T", bound=ApiObject)


def watch_revisions(loop: OwnerLoop[W, T], revisions: Cached[ControllerRevision]) -> None:
    revisions.index(BY_CONTROLLER, controller_of)
    revisions.on_change(loop.wake_owner)


def revisions_of(
    loop: OwnerLoop[W, T], owner: W, revisions: Cached[ControllerRevision]
) -> Membership[ControllerRevision]:
    view = revisions.view()
    own = view.by(BY_CONTROLLER, owner.uid).values()
    orphans = view.by(BY_CONTROLLER, orphans_of(owner.namespace)).values()
    selector = loop.selector(owner)
    return decide_membership(
        owner,
        (*own, *orphans),
        of=(loop.workload, REVISIONS),
        matches=lambda revision: selector.matches(revision.labels),
    )
