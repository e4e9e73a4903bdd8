"""The groups of one scheduler: stored as leases, kept in memory, written by the leader alone.

Where the role of the scheduler does not allow leases, volumes are not held back, as kube-scheduler
does not hold them back, and the log says so.
"""

import logging
from collections.abc import Callable

from plimsoll.api.core import Lease
from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.decide.records import RECORD
from plimsoll.decide.scheduling.binding.groups import (
    GROUP,
    Group,
    StoredGroup,
    lease_document,
    read_group,
)
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import documents, key_of, typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import Selection

log = logging.getLogger(__name__)

LEASES = documents(typed(Lease).resource)


class GroupBook:
    def __init__(self, client: KubeClient, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._stored: dict[str, StoredGroup] = {}
        """By the uid of the pod."""
        self._by_claim: dict[ObjectKey, set[str]] = {}
        """Uids of the pods with groups that hold a claim, or held it; no decision has to look at
        the groups of all pods."""
        self._strays: frozenset[tuple[str, str]] = frozenset()
        """Uids of pods with groups that were not known when they were looked for last, and the
        versions of their leases."""
        self.listed: tuple[Group, ...] = ()
        """All that were stored when strays were looked for last, by other schedulers too."""
        self.is_allowed = True

    def __len__(self) -> int:
        return len(self._stored)

    async def load(self) -> None:
        """What earlier schedulers have left. Raises KubeError."""
        try:
            found = await self._list()
        except KubeError as error:
            if error.failure is not Failure.FORBIDDEN:
                raise
            self.is_allowed = False
            facts = {"namespace": self._namespace, "error": str(error)}
            log.warning("groups not read: the role does not allow leases", extra=facts)
            return
        for stored in found:
            self._put(stored.group.pod_uid, stored)

    async def load_strays(self, is_left: Callable[[Group], bool]) -> bool:
        """What another scheduler stored after `load`: an earlier leader that stood still between
        its permit and its write, or a second one without an election. Of that, what `is_left`.
        Whether there was any. One is taken over when it was seen twice as it is, so that none is
        mistaken for a stray which this process is about to store. Raises KubeError."""
        if not self.is_allowed:
            return False
        listed = await self._list()
        self.listed = tuple(each.group for each in listed)
        strays = {
            (each.group.pod_uid, version_of(each.lease)): each
            for each in listed
            if not self._is_known(each) and is_left(each.group)
        }
        taken = [each for key, each in strays.items() if key in self._strays]
        self._strays = frozenset(strays)
        for each in taken:
            self._put(each.group.pod_uid, each)
        return bool(taken)

    def _is_known(self, listed: StoredGroup) -> bool:
        """Whether no other scheduler has written it since this one did."""
        known = self._stored.get(listed.group.pod_uid)
        return known is not None and version_of(known.lease) == version_of(listed.lease)

    async def _list(self) -> list[StoredGroup]:
        selection = Selection(namespace=self._namespace, labels=f"{RECORD}={GROUP}")
        found: list[StoredGroup] = []
        for lease in (await self._client.list(LEASES, selection)).items:
            group = read_group(lease)
            if group is None:
                log.error("group cannot be read", extra={"lease": lease["metadata"]["name"]})
            else:
                found.append(StoredGroup(group=group, lease=lease))
        return found

    def find(self, pod_uid: str) -> Group | None:
        found = self._stored.get(pod_uid)
        return None if found is None else found.group

    def all(self) -> list[Group]:
        return [stored.group for stored in self._stored.values()]

    def of_claim(self, claim: ObjectKey) -> list[Group]:
        """Groups that a claim of this name is in, in the order of their pods' uids."""
        return [self._stored[uid].group for uid in sorted(self._by_claim.get(claim, ()))]

    def _put(self, pod_uid: str, stored: StoredGroup) -> None:
        self._leave_claims(pod_uid)
        self._stored[pod_uid] = stored
        for held in stored.group.claims:
            self._by_claim.setdefault(stored.group.key_of(held), set()).add(pod_uid)

    def _drop(self, pod_uid: str) -> None:
        self._leave_claims(pod_uid)
        self._stored.pop(pod_uid, None)

    def _leave_claims(self, pod_uid: str) -> None:
        known = self._stored.get(pod_uid)
        for key in {known.group.key_of(held) for held in known.group.claims} if known else ():
            pods = self._by_claim[key]
            pods.discard(pod_uid)
            if not pods:
                del self._by_claim[key]

    async def write(self, group: Group) -> None:
        """Raises KubeError; another scheduler may have been first."""
        known = self._stored.get(group.pod_uid)
        lease = known.lease if known else {}
        document = lease_document(StoredGroup(group=group, lease=lease), self._namespace)
        try:
            stored = await (self._client.update if known else self._client.create)(LEASES, document)
        except KubeError as error:
            if error.failure is Failure.FORBIDDEN:
                self.is_allowed = False
            if error.failure not in (Failure.CONFLICT, Failure.ALREADY_EXISTS, Failure.NOT_FOUND):
                raise
            stored = await self._reread(group, error)
        self._put(group.pod_uid, StoredGroup(group=group, lease=stored))

    async def _reread(self, group: Group, error: KubeError) -> Document:
        """The write may have been made although its answer was lost. Raises the error again if it
        was not; what is there counts then."""
        there = await self._client.find(LEASES, ObjectKey(self._namespace, group.name))
        found = None if there is None else read_group(there)
        if there is None or found is None:
            self._drop(group.pod_uid)
            raise error
        if found != group:
            self._put(group.pod_uid, StoredGroup(group=found, lease=there))
            raise error
        return there

    async def delete(self, pod_uid: str) -> None:
        """Raises KubeError."""
        known = self._stored.get(pod_uid)
        if known is None:
            return
        try:
            await self._client.delete(LEASES, key_of(known.lease))
        except KubeError as error:
            if error.failure is not Failure.NOT_FOUND:
                raise
        self._drop(pod_uid)


def version_of(lease: Document) -> str:
    version: str = lease["metadata"]["resourceVersion"]
    return version
