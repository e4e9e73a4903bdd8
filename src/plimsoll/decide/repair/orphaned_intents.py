"""Intents of a provisioner that ran on a node which is gone: no process can settle them any more.

Provisioners that serve one node each settle what they began themselves. With the node goes the
provisioner, and the claim would wait for ever. It is told so, and the scheduler may choose another
node. The intent stays as it is: only its provisioner writes it, and settles it should the node come
back.
"""

from collections.abc import Collection
from enum import StrEnum

from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.claims.writes import existing
from plimsoll.decide.plan import Emit, EventType, Patch, Plan
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import Intent
from plimsoll.decide.repair.repairs import regarding, select_node
from plimsoll.decide.repair.selected_node import selected_node_while_unbound


class OrphanReason(StrEnum):
    """The reason of an event."""

    ORPHANED = "IntentOrphaned"
    """A provisioner began a volume on its node, and the node is gone."""


def is_orphaned(intent: Intent, nodes: Collection[str]) -> bool:
    """`nodes` are the names of all that exist."""
    return bool(intent.node) and intent.state.is_open and intent.node not in nodes


def decide_orphan(intent: Intent, claim: PersistentVolumeClaim | None, namespace: str) -> Plan:
    """`claim` is what has the name of its claim now; `namespace` is that of the intent's lease.

    No data can be lost: no volume was recorded, so no pod has written anything to one.
    """
    waits = claim is not None and claim.uid == intent.uid
    release = _release(intent, claim) if claim is not None and waits else None
    then = "; it is taken off the claim, and the scheduler chooses another" if release else ""
    message = (
        f"Node {intent.node} is gone while {intent.driver} may have made volume "
        f"{intent.volume_name} there{then}. If the node comes back, its provisioner settles that. "
        f"Otherwise, once the storage is gone as well, delete the lease {namespace}/{intent.name}."
    )
    return Plan(
        reason=OrphanReason.ORPHANED,
        writes=existing(
            release,
            Emit(
                regarding=regarding(intent.recorded_claim, "v1", "PersistentVolumeClaim"),
                type=EventType.WARNING,
                reason=OrphanReason.ORPHANED,
                message=message,
            ),
        ),
    )


def _release(intent: Intent, claim: PersistentVolumeClaim) -> Patch | None:
    """A claim that is held is the scheduler's, which sees for itself that the node is gone."""
    if HOLD in claim.annotations or selected_node_while_unbound(claim) != intent.node:
        return None
    return select_node(claim, None)
