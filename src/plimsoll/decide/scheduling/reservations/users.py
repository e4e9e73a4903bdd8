"""Which live pods use a claim: what another writer has selected reserves only while one does."""

from typing import NamedTuple

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod

MOST_PER_POD = 32
"""Claims of one pod that reserve room."""


class ChangedUsers(NamedTuple):
    claims: tuple[ObjectKey, ...] = ()
    """That have another user, or one less."""
    newly_used: tuple[ObjectKey, ...] = ()
    """Of these, the ones without a user before."""


NOTHING_CHANGED = ChangedUsers()


class ClaimUsers:
    def __init__(self) -> None:
        self._pods: dict[ObjectKey, tuple[ObjectKey, ...]] = {}
        self._by_claim: dict[ObjectKey, set[ObjectKey]] = {}
        self._placed: set[ObjectKey] = set()
        """Pods that have a node, or are about to get it."""

    def __contains__(self, claim: ObjectKey) -> bool:
        return claim in self._by_claim

    def claims_of(self, pod: ObjectKey) -> tuple[ObjectKey, ...]:
        return self._pods.get(pod, ())

    def is_placed(self, claim: ObjectKey) -> bool:
        """One of the pods that use it has a node."""
        return not self._placed.isdisjoint(self._by_claim[claim])

    def put(self, pod: Pod) -> ChangedUsers:
        key, node, claims = pod.key, pod.spec.node_name, _reserving(pod)
        if claims and node:
            self._placed.add(key)
        else:
            self._placed.discard(key)
        return self._use(key, claims)

    def remove(self, pod: ObjectKey) -> ChangedUsers:
        self._placed.discard(pod)
        return self._use(pod, ())

    def _use(self, pod: ObjectKey, claims: tuple[ObjectKey, ...]) -> ChangedUsers:
        before = self._pods.pop(pod, ())
        if claims:
            self._pods[pod] = claims
        if before == claims:
            return NOTHING_CHANGED
        for claim in before:
            self._by_claim[claim].discard(pod)
            if not self._by_claim[claim]:
                del self._by_claim[claim]
        newly_used = tuple(claim for claim in claims if claim not in self._by_claim)
        for claim in claims:
            self._by_claim.setdefault(claim, set()).add(pod)
        return ChangedUsers(tuple(dict.fromkeys((*before, *claims))), newly_used)

    def fork(self) -> "ClaimUsers":
        twin = ClaimUsers()
        twin._pods, twin._placed = self._pods.copy(), self._placed.copy()
        twin._by_claim = {claim: pods.copy() for claim, pods in self._by_claim.items()}
        return twin


def _reserving(pod: Pod) -> tuple[ObjectKey, ...]:
    """The claims that reserve room because of the pod."""
    if pod.is_finished or pod.is_being_deleted:
        return ()
    # Gates are never added to a pod: no scheduler has decided on one that has some.
    if pod.spec.scheduling_gates and not pod.spec.node_name:
        return ()
    return pod.claims[:MOST_PER_POD]
