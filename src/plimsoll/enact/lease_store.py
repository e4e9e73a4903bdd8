"""Keeps the record of a leader election in a Lease object.

The lease is replaced as a whole (roles for elections usually do not allow patches). What other
programs have written into it is kept.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from plimsoll.api.meta import ObjectKey, wire_micro_time
from plimsoll.api.registry import Document, resources_by_path
from plimsoll.runtime.leading.leader import LeaseError, LeaseRecord, StoredLease
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import documents, version_of
from plimsoll.wire.kube import KubeClient

LEADER_TRANSITIONS = "plimsoll.dev/leader-transitions"
"""Each of our leaders notes the count of transitions. Other programs keep the note, and count on:
if the two differ, one of them has led since."""
OWN_SINCE = "plimsoll.dev/own-leaders-since"
"""From which count on all leaders were ours. A leader of ours that follows another program begins
anew, so that its successors know as well, even if it did not live to do anything about it."""


class KubeLeaseStore:
    def __init__(
        self, client: KubeClient, key: ObjectKey, labels: Mapping[str, str] | None = None
    ) -> None:
        self._client = client
        self._key = key
        self._labels = dict(labels or {})
        self._leases = documents(resources_by_path()["coordination.k8s.io", "v1", "leases"])
        self._latest: Document = {}
        self._own_since: int | None = None
        """As the latest lease says."""

    async def read(self) -> StoredLease | None:
        try:
            found = await self._client.find(self._leases, self._key)
        except KubeError as error:
            raise LeaseError(str(error)) from error
        return None if found is None else self._stored(found)

    async def create(self, record: LeaseRecord) -> StoredLease:
        lease: Document = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "namespace": self._key.namespace,
                "name": self._key.name,
                **({"labels": self._labels} if self._labels else {}),
                "annotations": _notes(record.transitions, record.transitions),
            },
            "spec": _spec(record),
        }
        try:
            return self._stored(await self._client.create(self._leases, lease))
        except KubeError as error:
            raise LeaseError(str(error)) from error

    async def update(self, record: LeaseRecord, version: str) -> StoredLease:
        metadata = {**self._latest["metadata"], "resourceVersion": version}
        since = self._own_since
        noted = _notes(record.transitions, record.transitions if since is None else since)
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **noted}
        spec = {**self._latest.get("spec", {}), **_spec(record)}
        lease = {**self._latest, "metadata": metadata, "spec": spec}
        try:
            return self._stored(await self._client.update(self._leases, lease))
        except KubeError as error:
            raise LeaseError(str(error)) from error

    def _stored(self, lease: Document) -> StoredLease:
        self._latest = lease
        spec = lease.get("spec") or {}
        record = LeaseRecord(
            holder=spec.get("holderIdentity") or "",
            duration=timedelta(seconds=spec.get("leaseDurationSeconds") or 0),
            acquired_at=_time(spec.get("acquireTime")),
            renewed_at=_time(spec.get("renewTime")),
            transitions=spec.get("leaseTransitions") or 0,
        )
        stored = StoredLease(
            record=record,
            version=version_of(lease),
            lease=str(self._key),
            created_at=_time(lease["metadata"].get("creationTimestamp")),
            noted_transitions=_noted(lease, LEADER_TRANSITIONS),
            noted_own_since=_noted(lease, OWN_SINCE),
        )
        self._own_since = stored.own_since
        return stored


def _notes(transitions: int, own_since: int) -> dict[str, str]:
    return {LEADER_TRANSITIONS: str(transitions), OWN_SINCE: str(own_since)}


def _noted(lease: Document, name: str) -> int | None:
    text = (lease["metadata"].get("annotations") or {}).get(name, "")
    return int(text) if text.isdecimal() else None


def _spec(record: LeaseRecord) -> dict[str, Any]:
    return {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": max(1, round(record.duration.total_seconds())),
        "acquireTime": wire_micro_time(record.acquired_at) if record.acquired_at else None,
        "renewTime": wire_micro_time(record.renewed_at) if record.renewed_at else None,
        "leaseTransitions": record.transitions,
    }


@lru_cache(maxsize=64)
def _time(text: str | None) -> datetime | None:
    """Remembered: of the times of a lease, a renewal changes one."""
    return datetime.fromisoformat(text).astimezone(UTC) if text else None
