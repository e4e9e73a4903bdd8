"""The interface of a provisioner that runs inside the controller.

A provisioner creates and deletes storage assets; it neither reads nor writes Kubernetes objects. It
is asked for one volume at a time. An asset is named by `volume_name`: asked twice for a name, a
provisioner must create one asset and describe it both times; to delete what is gone is a success.
So a controller that dies anywhere can simply call again. Once the controller has decided to delete
an asset that no volume recorded, it never asks for that name again: the next one for the same claim
has another name.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, TypeVar

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.runtime.blocking import Blocking

T = TypeVar("T")

Secret = Mapping[str, bytes]
ReadSecret = Callable[[ObjectKey], Awaitable[Secret]]


class Trouble(StrEnum):
    """Why something was not done, as far as it matters for what happens next."""

    REFUSED = "Refused"
    """Certain: nothing was created, and neither a retry nor another node would change that."""
    WRONG_NODE = "WrongNode"
    """Certain: nothing was created for this node, but another node could help."""
    TRY_AGAIN = "TryAgain"
    """It did not work this time; an asset may or may not exist."""
    IN_USE = "InUse"
    """It cannot be deleted or recycled yet, because it is in use."""


class ProvisionerError(Exception):
    """`message` is shown to users in events: it must not hold secrets."""

    def __init__(self, trouble: Trouble, message: str) -> None:
        super().__init__(message)
        self.trouble = trouble
        self.message = message


async def _no_secrets(reference: ObjectKey) -> Secret:
    raise ProvisionerError(Trouble.TRY_AGAIN, f"secret {reference} cannot be read here")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionRequest:
    volume_name: str
    """The name of the asset: `pvc-<uid of the claim>`, which is also the volume's; with a number
    behind it after earlier assets for the claim were deleted again."""
    claim: PersistentVolumeClaim
    storage_class: StorageClass
    selected_node: Node | None = None
    """The node that the scheduler chose; None where binding does not wait for a pod."""
    nodes: Callable[[], Iterable[Node]] = tuple
    """All nodes known at this moment, for provisioners that choose among their zones."""
    secret: ReadSecret = _no_secrets
    """Reads a Secret that the class names in its parameters. Keep it nowhere."""

    @property
    def requested_bytes(self) -> int:
        return self.claim.spec.requested_bytes

    @property
    def parameters(self) -> Mapping[str, str]:
        return self.storage_class.parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeVolume:
    """What was made. Access modes, volume mode, mount options, class and reclaim policy are taken
    from the claim and its class."""

    source: Document
    """The one field of a volume's spec that says where the data is: `{"hostPath": {…}}`."""
    capacity_bytes: int | None = None
    """At least what was asked for; None: exactly that."""
    reachable_from: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Node labels with the values that they may have, all of them at once; empty: any node."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    """What deletion will need. Never a secret, and no reference to one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRequest:
    volume_name: str
    """As it was in the request to provision."""
    volume: PersistentVolume | None
    """None: no volume was ever stored. Delete what may have been made under this name."""
    parameters: Mapping[str, str] | None = None
    """Those of the class; None: the class is gone by now."""
    secret: ReadSecret = _no_secrets


class Provisioner(ABC):
    """Derive from it, and say in `name` what storage classes write in `provisioner`."""

    name: str
    takes_mount_options: bool = False
    recycles: bool = False
    """Whether `recycle` is implemented."""
    known_parameters: ClassVar[frozenset[str]] = frozenset()

    def objection(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> str:
        """Why it will not serve such a claim of such a class on any node; empty if it will.

        Asked before anything is created, so it neither waits nor has effects. By default unknown
        parameters and selectors are refused: a provisioner must not ignore what it does not
        understand.
        """
        unknown = sorted(set(storage_class.parameters) - self.known_parameters)
        if unknown:
            known = ", ".join(sorted(self.known_parameters)) or "none"
            return f"unknown parameters: {', '.join(unknown)} (known: {known})"
        if claim.spec.selector is not None:
            return "claim.spec.selector is not supported"
        return ""

    def knows(self, volume: PersistentVolume) -> bool:  # noqa: ARG002 - for others to override
        """Whether it can delete or recycle this volume although it did not create it."""
        return False

    @abstractmethod
    async def provision(self, request: ProvisionRequest) -> MadeVolume:
        """Make the asset, or find the one made before. Raises ProvisionerError."""

    @abstractmethod
    async def delete(self, request: DeleteRequest) -> None:
        """Delete the asset; one that is gone is deleted. Raises ProvisionerError."""

    async def recycle(self, volume: PersistentVolume) -> None:
        """Empty the asset for the next claim. Raises ProvisionerError."""
        raise ProvisionerError(Trouble.REFUSED, f"{self.name} cannot recycle {volume.name}")

    async def free_bytes(
        self,
        storage_class: StorageClass,  # noqa: ARG002 - for others to override
        node: Node | None,  # noqa: ARG002 - for others to override
    ) -> int | None:
        """How much could still be provisioned for this node; None: unknown."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionerEnvironment:
    """What a provisioner is made with. An entry point names a function that takes it."""

    directory: Path
    """For what has to survive; this provisioner's alone, not made yet."""
    blocking: Blocking
    options: Mapping[str, str] = field(default_factory=dict)
    """What the administrator set for this provisioner, as text."""

    def refuse_options_but(self, *known: str) -> None:
        """Raises ValueError for options that the provisioner would not read."""
        unknown = sorted(set(self.options) - set(known))
        if unknown:
            raise ValueError(f"unknown options {', '.join(unknown)}; known: {', '.join(known)}")
