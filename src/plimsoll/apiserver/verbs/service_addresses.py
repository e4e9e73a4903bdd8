"""Gives services what they need from the cluster's ranges, when they are written.

What is taken is read from the services themselves, in the same step in which one of them is
staged: no two get the same, whatever else happens, and a restart forgets nothing.
"""

from collections.abc import Iterator
from functools import cached_property

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.networking.service import RULES
from plimsoll.apiserver.model.kinds.networking.service_allocation import allocate
from plimsoll.apiserver.model.kinds.networking.service_ports import ON_NODES, node_ports
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.collection import Collection, StoredRecord
from plimsoll.apiserver.storage.resource_kinds import ResourceKind


def give_addresses(
    cluster: StoredCluster, kind: ResourceKind, document: Document, old: Document | None
) -> None:
    """For writes of the object itself. Does nothing for other kinds. Raises ApiError."""
    if kind.rules is RULES:
        meta = document["metadata"]
        key = f"{meta.get('namespace', '')}/{meta.get('name', '')}"
        others = _TakenByOthers(cluster.collection(kind), key)
        allocate(document, old, cluster.service_network, others)


class _TakenByOthers:
    def __init__(self, services: Collection, key: str) -> None:
        self._services = services
        self._key = key

    @cached_property
    def addresses(self) -> frozenset[str]:
        return frozenset(record.fields["spec.clusterIP"] for record in self._others())

    @cached_property
    def ports(self) -> frozenset[int]:
        on_nodes = (r for r in self._others() if r.fields["spec.type"] in ON_NODES)
        return frozenset(port for record in on_nodes for port in _ports(record))

    def _others(self) -> Iterator[StoredRecord]:
        return (r for r in self._services.newest_records("") if r.key != self._key)


def _ports(record: StoredRecord) -> list[int]:
    spec = record.document()["spec"]
    return [*node_ports(spec), spec.get("healthCheckNodePort", 0)]
