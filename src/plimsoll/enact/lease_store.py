"""Keeps the record of a leader election in a Lease object.

The lease is replaced as a whole (roles for elections usually do not allow patches). What other
programs have written into it is kept.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from plimsoll.api.meta import ObjectKey, wire_micro_time
from plimsoll.api.registry import Document, resources_by_path
from plimsoll.runtime.leading.leader import LeaseError, LeaseRecord, StoredLease
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import documents, version_of
from plimsoll.wire.kube import KubeClient


class KubeLeaseStore:
    def __init__(
        self, client: KubeClient, key: ObjectKey, labels: Mapping[str, str] | None = None
    ) -> None:
        self._client = client
        self._key = key
        self._labels = dict(labels or {})
        self._leases = documents(resources_by_path()["coordination.k8s.io", "v1", "leases"])
        self._latest: Document = {}

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
            },
            "spec": _spec(record),
        }
        try:
            return self._stored(await self._client.create(self._leases, lease))
        except KubeError as error:
            raise LeaseError(str(error)) from error

    async def update(self, record: LeaseRecord, version: str) -> StoredLease:
        metadata = {**self._latest["metadata"], "resourceVersion": version}
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
        return StoredLease(
            record=record,
            version=version_of(lease),
            lease=str(self._key),
            created_at=_time(lease["metadata"].get("creationTimestamp")),
        )


def _spec(record: LeaseRecord) -> dict[str, Any]:
    return {
        "holderIdentity": record.holder,
        "leaseDurationSeconds": max(1, round(record.duration.total_seconds())),
        "acquireTime": wire_micro_time(record.acquired_at) if record.acquired_at else None,
        "renewTime": wire_micro_time(record.renewed_at) if record.renewed_at else None,
        "leaseTransitions": record.transitions,
    }


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(UTC) if text else None
