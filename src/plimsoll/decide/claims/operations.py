"""What a decision may ask for besides writes, and how each operation can end.

A process carries out a decision in this order: the plan's writes, then the operation. Operations
take time and happen outside the API, one at a time per object. Each outcome goes into a pure
function (`after_…` in `in_process.provision` and `reclaim`) that says what to write about it.
"""

from dataclasses import dataclass

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.plan import NOTHING, Plan


@dataclass(frozen=True, slots=True)
class DecideAgain:
    """Decide about the same object again at once, as the writes of this plan left it."""


@dataclass(frozen=True, slots=True)
class ReadClaim:
    """Ask the server itself for this claim, then decide again with what it says.

    The cache says that the claim is gone, and its volume would be released for that. A delayed
    watch must not cost users their data.
    """

    key: ObjectKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Provision:
    """Provision a volume for a claim. Two calls with the same name must provision one volume."""

    claim: PersistentVolumeClaim
    storage_class: StorageClass
    provisioner: str
    volume_name: str
    selected_node: Node | None = None
    asset_name: str = ""
    """What the provisioner is told; empty: the name of the volume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefuseClaim:
    """Tell the scheduler, which holds the claim, that there will be no volume on this node."""

    claim: PersistentVolumeClaim
    provisioner: str
    volume_name: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteBacking:
    """Delete what is behind a volume; what is gone already counts as deleted."""

    volume: PersistentVolume
    provisioner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recycle:
    """Empty a volume for the next claim."""

    volume: PersistentVolume
    provisioner: str


Operation = DecideAgain | ReadClaim | Provision | RefuseClaim | DeleteBacking | Recycle


@dataclass(frozen=True, slots=True)
class Provisioned:
    """`volume` is a PersistentVolume: capacity, access modes, reclaim policy, where the data is and
    from where it can be reached. What binds it to its claim is added later."""

    volume: Document


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was provisioned, and another node would not help."""

    message: str


@dataclass(frozen=True, slots=True)
class Failed:
    """It did not work. When provisioning, another node might help."""

    message: str


@dataclass(frozen=True, slots=True)
class InUse:
    """The volume is still in use: no error, the deletion only comes too early."""

    message: str


@dataclass(frozen=True, slots=True)
class Finished:
    """Deleted, or recycled."""


ProvisionOutcome = Provisioned | Refused | Failed
DeleteOutcome = Finished | InUse | Failed
RecycleOutcome = Finished | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    plan: Plan = NOTHING
    operation: Operation | None = None
    complaint: str = ""
    """Why the decision stops short of what should be: to be logged, and tried again later."""
