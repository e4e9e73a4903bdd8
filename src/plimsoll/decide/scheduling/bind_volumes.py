"""From the choice of a node to volumes that are bound: assume, write, wait.

First the choice is assumed, so that no other pod is given the same volumes. Then it is written:
each volume names its claim, then each claim to be provisioned for names the node. From there the
controller and provisioners do the rest, and the pod waits until every claim is bound, or until it
is clear that this will not happen here. What was written stays written: the next attempt finds it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject, ObjectReference
from plimsoll.api.pods import Pod
from plimsoll.api.selectors.node import NO_TERM_MATCHES, NodeSelector
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import BOUND_BY_CONTROLLER, SELECTED_NODE, YES
from plimsoll.decide.bind.writes import bind_volume, patch_of
from plimsoll.decide.match import is_kept_for
from plimsoll.decide.plan import Patch
from plimsoll.decide.scheduling.assumptions import AssumingView, Assumptions
from plimsoll.decide.scheduling.claims import are_all_bound, is_fully_bound
from plimsoll.decide.scheduling.in_tree import seen_from_node
from plimsoll.decide.scheduling.reasons import Finding, Reason, Seen, seen_volume
from plimsoll.decide.scheduling.view import ClusterView
from plimsoll.decide.scheduling.volume_binding import PodVolumes, StaticBinding


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A pod's volumes on the node that was chosen, as they are assumed to be.

    Volumes and claims are replaced by what the server returned as soon as they are written.
    """

    node: str
    static: tuple[StaticBinding, ...] = ()
    provisions: tuple[PersistentVolumeClaim, ...] = ()
    """The claims, with the node in them."""


class AllBound:
    """Nothing is left to be done for the pod's volumes."""


def choose(volumes: PodVolumes, node: str) -> Choice:
    return Choice(
        node=node,
        static=tuple(
            replace(binding, volume=_naming(binding.volume, binding.claim))
            for binding in volumes.static
        ),
        provisions=tuple(selected_for(made.claim, node) for made in volumes.provisions),
    )
