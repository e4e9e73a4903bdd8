"""What the server counts, under kube-apiserver's names and labels where those exist."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from plimsoll.apiserver.http.requests import Target
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.measured_store import MeasuredStore
from plimsoll.apiserver.verbs.options.write_options import APPLY
from plimsoll.runtime.quick_metrics import Labels, QuickCounter, QuickHistogram
from plimsoll.wire.transport import Request

COMPONENT = "apiserver"
STORAGE = "sqlite-0"
READ_ONLY = ("GET", "HEAD")
REQUEST_BUCKETS = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5),
    *(2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60),
)
LABELS = ("verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component")
VERBS = {"GET": "GET", "HEAD": "GET", "POST": "POST", "PUT": "PUT", "DELETE": "DELETE"}
PLACES = ("api", "apis", "healthz", "livez", "metrics", "openapi", "readyz", "version")
"""Paths that are about no resource; others count as one, whatever clients make up."""


class ServerMetrics:
    def __init__(self, cluster: StoredCluster, store: MeasuredStore | None = None) -> None:
        self._cluster = cluster
        self._store = store
        self._registry = CollectorRegistry()
        self._requests = QuickCounter(
            "apiserver_request",
            "Requests by verb, resource and the code of the answer.",
            [*LABELS, "code"],
        )
        self._durations = QuickHistogram(
            "apiserver_request_duration_seconds",
            "Time from the request to the answer; of watches, to the beginning of the answer.",
            LABELS,
            buckets=REQUEST_BUCKETS,
        )
        self._registry.register(self._requests)
        self._registry.register(self._durations)
        self._objects = self._gauge(
            "apiserver_resource_objects", "Objects stored, by resource.", "group", "resource"
        )
        self._stored = self._gauge(
            "apiserver_storage_objects", "The same under an older name.", "resource"
        )
        self._watches = self._gauge(
            "apiserver_longrunning_requests",
            "Open watches, by resource.",
            *("verb", "group", "version", "resource", "component"),
        )
        self._revision = self._gauge(
            "plimsoll_apiserver_revision_number", "The newest durable revision."
        )
        self._storage_size = self._gauge(
            "apiserver_storage_size_bytes",
            "Size of the server's own file on the disk.",
            "storage_cluster_id",
        )
        in_flight = self._gauge(
            "apiserver_current_inflight_requests",
            "Requests being answered, `readOnly` or `mutating`; open watches do not count.",
            "request_kind",
        )
        self._read_only, self._mutating = _InFlight(), _InFlight()
        in_flight.labels("readOnly").set_function(lambda: self._read_only.number)
        in_flight.labels("mutating").set_function(lambda: self._mutating.number)
        self._registry.register(_SentEvents(cluster))
        if store is not None:
            self._registry.register(store.seconds)
        ProcessCollector(registry=self._registry)

    def register(self, collector: Collector) -> None:
        """Figures that another part of the server keeps."""
        self._registry.register(collector)

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(name, meaning, labels, registry=self._registry)

    def observe(self, request: Request, target: Target | None, code: int, seconds: float) -> None:
        """One request, answered."""
        labels = _labels(request, target)
        self._requests.add((*labels, str(code)))
        self._durations.observe(labels, seconds)

    def in_flight(self, request: Request) -> "_InFlight":
        """For as long as the request waits for its answer."""
        return self._read_only if request.method in READ_ONLY else self._mutating

    def text(self) -> str:
        for collection in self._cluster.revisions.collections():
            plural, _, group = collection.name.partition(".")
            self._objects.labels(group, plural).set(len(collection))
            self._stored.labels(collection.name).set(len(collection))
        self._watches.clear()
        for name, number in self._cluster.hub.number_by_collection().items():
            plural, _, group = name.partition(".")
            self._watches.labels("WATCH", group, "v1", plural, COMPONENT).set(number)
        self._revision.set(self._cluster.revisions.committed)
        if self._store is not None:
            self._storage_size.labels(STORAGE).set(self._store.size_bytes)
        return generate_latest(self._registry).decode()


class _InFlight:
    """Counts the blocks that are entered and not left: no more than that for every request."""

    def __init__(self) -> None:
        self.number = 0

    def __enter__(self) -> None:
        self.number += 1

    def __exit__(self, *_: object) -> None:
        self.number -= 1


class _SentEvents(Collector):
    """The events of watches, which the cluster counts."""

    def __init__(self, cluster: StoredCluster) -> None:
        self._cluster = cluster

    def collect(self) -> Iterator[CounterMetricFamily]:
        family = CounterMetricFamily(
            "apiserver_watch_events",
            "Events sent to watches, bookmarks among them, by resource.",
            labels=["group", "version", "resource"],
        )
        for path, number in sorted(self._cluster.sent_events.items()):
            family.add_metric(path, number)
        yield family


def _labels(request: Request, target: Target | None) -> Labels:
    if target is None:
        place = request.path.strip("/").partition("/")[0]
        known = f"/{place}" if place in PLACES else ""
        return (VERBS.get(request.method, "other"), "", "", "", "", known, "", COMPONENT)
    resource = target.resource
    dry_run = "All" if ("dryRun", "All") in request.query else ""
    return (
        _verb(request, target),
        dry_run,
        resource.group,
        resource.version,
        resource.plural,
        target.subresource,
        _scope(request, target),
        COMPONENT,
    )


def _verb(request: Request, target: Target) -> str:
    if request.method == "PATCH":
        is_apply = request.headers.get("content-type", "").startswith(APPLY)
        return "APPLY" if is_apply else "PATCH"
    if request.method == "GET" and not target.name:
        is_watch = target.watch or any(name == "watch" for name, _ in request.query)
        return "WATCH" if is_watch else "LIST"
    if request.method == "DELETE" and not target.name:
        return "DELETECOLLECTION"
    return VERBS.get(request.method, "other")


def _scope(request: Request, target: Target) -> str:
    if target.name or request.method == "POST":
        return "resource"
    return "namespace" if target.namespace else "cluster"
