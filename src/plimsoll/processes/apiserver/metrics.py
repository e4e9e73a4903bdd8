"""What the server counts, under kube-apiserver's names where those exist."""

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from plimsoll.processes.apiserver.cluster import Cluster
from plimsoll.processes.apiserver.requests import Target


class ServerMetrics:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "apiserver_request",
            "Requests by verb, group and resource.",
            ["verb", "group", "resource"],
            registry=self._registry,
        )
        self._objects = Gauge(
            "apiserver_resource_objects",
            "Objects stored, by resource.",
            ["resource"],
            registry=self._registry,
        )
        self._watches = Gauge(
            "apiserver_longrunning_requests", "Open watches.", registry=self._registry
        )
        self._revision = Gauge(
            "plimsoll_apiserver_revision_number",
            "The newest durable revision.",
            registry=self._registry,
        )
        self._children: dict[tuple[str, str, str], Counter] = {}

    def count(self, method: str, target: Target) -> None:
        key = (method, target.resource.group, target.resource.plural)
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = self._requests.labels(*key)
        child.inc()

    def text(self) -> str:
        for collection in self._cluster.revisions.collections():
            self._objects.labels(collection.name).set(len(collection))
        self._watches.set(self._cluster.hub.number())
        self._revision.set(self._cluster.revisions.committed)
        return generate_latest(self._registry).decode()
