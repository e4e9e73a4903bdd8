"""What a decision may ask for besides writes, and what can come of it.

A process carries out a decision in this order: the plan's writes, then the operation. Operations
take time and happen outside the API, one at a time per object. Each outcome goes into a pure
function (`after_…` in `provision` and `reclaim`) that says what to write about it.
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
    """The same object, as the writes of this plan left it: more is to be decided at once."""


@dataclass(frozen=True, slots=True)
class ReadClaim:
    """Ask the server itself for this claim, then decide again with what it says.

    What is known says that the claim is gone, and a volume would be released for it; a late watch
    must not cost anybody their data.
    """

    key: ObjectKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Provision:
    """Make a volume for a claim. To ask twice for the same name must make one volume."""

    claim: PersistentVolumeClaim
    storage_class: StorageClass
    provisioner: str
    volume_name: str
    selected_node: Node | None = None


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


Operation = DecideAgain | ReadClaim | Provision | DeleteBacking | Recycle


@dataclass(frozen=True, slots=True)
class Provisioned:
    """`volume` is a PersistentVolume: capacity, access modes, reclaim policy, where the data is and
    from where it can be reached. What binds it to its claim is added later."""

    volume: Document


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was made, and another node would not help."""

    message: str


@dataclass(frozen=True, slots=True)
class Failed:
    """It did not work. When provisioning, another node might help."""

    message: str


@dataclass(frozen=True, slots=True)
class InUse:
    """Somebody still uses it: not an error, only too early."""

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
