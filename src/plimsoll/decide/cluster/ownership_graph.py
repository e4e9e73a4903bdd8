"""Which objects own which, kept up to date change by change, and what to examine after a change.

The graph may lag behind the server. It never decides that an object is garbage: it only says which
objects should be examined, and finds the dependents of an owner. Objects are known by uid, because
a reference means one certain object and not a later one of the same name.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from plimsoll.api.meta import ObjectMeta, OwnerReference

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


class OwnedIdentity(msgspec.Struct, frozen=True, order=True):
    """Made for every change of every object, and so a struct."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return (
            f"[{self.api_version}/{self.kind}, namespace: {self.namespace}, "
            f"name: {self.name}, uid: {self.uid}]"
        )


def identity_in(reference: OwnerReference, namespace: str) -> OwnedIdentity:
    """What a reference means when an object of this namespace makes it."""
    return OwnedIdentity(
        reference.api_version, reference.kind, namespace, reference.name, reference.uid
    )


class GraphObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object as the watch showed it last; of its metadata what ownership is about."""

    identity: OwnedIdentity
    version: str
    owners: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    is_being_deleted: bool = False

    @classmethod
    def of(cls, api_version: str, kind: str, metadata: ObjectMeta) -> "GraphObject":
        return cls(
            identity=OwnedIdentity(
                api_version, kind, metadata.namespace, metadata.name, metadata.uid
            ),
            version=metadata.resource_version,
            owners=metadata.owner_references,
            finalizers=metadata.finalizers,
            is_being_deleted=metadata.deletion_timestamp is not None,
        )

    @property
    def uid(self) -> str:
        return self.identity.uid

    def is_linked_like(self, other: "GraphObject") -> bool:
        """Whether the two differ in their version at most."""
        return (
            self.owners == other.owners
            and self.finalizers == other.finalizers
            and self.is_being_deleted == other.is_being_deleted
            and self.identity == other.identity
        )

    @property
    def awaits_dependents(self) -> bool:
        """It goes after its dependents."""
        return self.is_being_deleted and FOREGROUND in self.finalizers

    @property
    def releases_dependents(self) -> bool:
        """It goes, and its dependents stay."""
        return self.is_being_deleted and ORPHAN in self.finalizers

    def blocks(self, owner: str) -> bool:
        """Whether the owner, waiting for its dependents, waits for this one."""
        return any(ref.uid == owner and ref.block_owner_deletion for ref in self.owners)

    def can_belong_to(self, owner: OwnedIdentity) -> bool:
        """Whether every reference to this owner calls it by its name and can reach it."""
        if owner.namespace and owner.namespace != self.identity.namespace:
            return False
        return all(
            (ref.api_version, ref.kind, ref.name) == (owner.api_version, owner.kind, owner.name)
            for ref in self.owners
            if ref.uid == owner.uid
        )


@dataclass(frozen=True, slots=True)
class BadReference:
    """A namespaced owner that lives in another namespace than its dependent."""

    dependent: OwnedIdentity
    reference: OwnerReference

    @property
    def message(self) -> str:
        meant = identity_in(self.reference, self.dependent.namespace)
        return f'ownerRef {meant} does not exist in namespace "{self.dependent.namespace}"'


@dataclass(frozen=True, slots=True)
class Attention:
    """What a change gives reason to look at."""

    examine: tuple[str, ...] = ()
    """Uids, in order."""
    bad: tuple[BadReference, ...] = ()


NOTHING_TO_DO = Attention()


class OwnershipGraph:
    def __init__(self) -> None:
        self._known: dict[str, GraphObject] = {}
        self._dependents: dict[str, set[str]] = {}
        """By the owner's uid, whether or not the owner was seen."""

    def __len__(self) -> int:
        return len(self._known)

    def find(self, uid: str) -> GraphObject | None:
        return self._known.get(uid)

    def dependents(self, uid: str) -> list[GraphObject]:
        """Ordered by identity."""
        found = (self._known[dependent] for dependent in self._dependents.get(uid, ()))
        return sorted(found, key=lambda known: known.identity)

    def blocking(self, uid: str) -> list[GraphObject]:
        """The dependents that an owner has to wait for: not those that wait for it in turn."""
        return [
            known
            for known in self.dependents(uid)
            if known.blocks(uid) and not self._waits_for(known, uid)
        ]

    def _waits_for(self, known: GraphObject, other: str) -> bool:
        """Whether it waits for the other, directly or through objects in between."""
        seen: set[str] = set()
        ahead = [known]
        while ahead:
            now = ahead.pop()
            if now.uid == other:
                return True
            if now.uid not in seen and now.awaits_dependents:
                seen.add(now.uid)
                ahead += [next_ for next_ in self.dependents(now.uid) if next_.blocks(now.uid)]
        return False

    def is_settled(self, uid: str) -> bool:
        """Nothing speaks for examining it: all owners were seen and are as the object says."""
        known = self._known.get(uid)
        if known is None:
            return True
        if known.awaits_dependents or known.releases_dependents:
            return False
        return known.is_being_deleted or all(self._is_solid(known, ref) for ref in known.owners)

    def put(self, known: GraphObject) -> Attention:
        uid = known.identity.uid
        before = self._known.get(uid)
        if before is not None and before.is_linked_like(known) and self.is_settled(uid):
            self._known[uid] = known
            return NOTHING_TO_DO  # Most changes of an object are not about its owners.
        self._known[known.uid] = known
        self._link(before, known)
        examine: set[str] = set() if self.is_settled(known.uid) else {known.uid}
        examine |= self._unblocked_owners(before, known)
        if before is None or not before.awaits_dependents:
            examine |= self._roused_dependents(known)
        bad = self._misplaced_owners(before, known)
        if before is None:
            strangers = [
                d for d in self.dependents(known.uid) if not d.can_belong_to(known.identity)
            ]
            examine |= {stranger.uid for stranger in strangers}
            bad += _misplaced(strangers, known)
        return Attention(tuple(sorted(examine)), tuple(bad))

    def remove(self, uid: str) -> Attention:
        gone = self._known.pop(uid, None)
        if gone is None:
            return Attention()
        for reference in gone.owners:
            self._unlink(reference.uid, uid)
        waiting = {ref.uid for ref in gone.owners if self._awaits(ref.uid)}
        return Attention(tuple(sorted(waiting | self._dependents.get(uid, set()))))

    def _link(self, before: GraphObject | None, after: GraphObject) -> None:
        wanted = {reference.uid for reference in after.owners}
        for reference in before.owners if before is not None else ():
            if reference.uid not in wanted:
                self._unlink(reference.uid, after.uid)
        for owner in wanted:
            self._dependents.setdefault(owner, set()).add(after.uid)

    def _unlink(self, owner: str, dependent: str) -> None:
        left = self._dependents.get(owner, set())
        left.discard(dependent)
        if not left:
            self._dependents.pop(owner, None)

    def _is_solid(self, known: GraphObject, reference: OwnerReference) -> bool:
        owner = self._known.get(reference.uid)
        return (
            owner is not None
            and not owner.awaits_dependents
            and known.can_belong_to(owner.identity)
        )

    def _awaits(self, uid: str) -> bool:
        known = self._known.get(uid)
        return known is not None and known.awaits_dependents

    def _unblocked_owners(self, before: GraphObject | None, after: GraphObject) -> set[str]:
        """Owners that waited for this object and need not any more."""
        if before is None:
            return set()
        return {
            reference.uid
            for reference in before.owners
            if before.blocks(reference.uid)
            and not after.blocks(reference.uid)
            and self._awaits(reference.uid)
        }

    def _roused_dependents(self, owner: GraphObject) -> set[str]:
        return set(self._dependents.get(owner.uid, ())) if owner.awaits_dependents else set()

    def _misplaced_owners(
        self, before: GraphObject | None, after: GraphObject
    ) -> list[BadReference]:
        """References that are new and lead into another namespace."""
        old = {reference.uid for reference in before.owners} if before is not None else set()
        owners = [
            owner
            for reference in after.owners
            if reference.uid not in old and (owner := self._known.get(reference.uid)) is not None
        ]
        return [bad for owner in owners for bad in _misplaced([after], owner)]


def _misplaced(dependents: Iterable[GraphObject], owner: GraphObject) -> list[BadReference]:
    where = owner.identity.namespace
    return [
        BadReference(dependent.identity, reference)
        for dependent in dependents
        if where and where != dependent.identity.namespace
        for reference in dependent.owners
        if reference.uid == owner.uid
    ]
