"""What the server counts, under kube-apiserver's names and labels where those exist."""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from plimsoll.apiserver.http.requests import Target
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.verbs.options.write_options import APPLY
from plimsoll.wire.transport import Request

COMPONENT = "apiserver"
REQUEST_BUCKETS = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5),
    *(2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60),
)
LABELS = ("verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component")
VERBS = {"GET": "GET", "HEAD": "GET", "POST": "POST", "PUT": "PUT", "DELETE": "DELETE"}
PLACES = ("api", "apis", "healthz", "livez", "metrics", "openapi", "readyz", "version")
"""Paths that are about no resource; others count as one, whatever clients make up."""

Labels = tuple[str, ...]


class ServerMetrics:
    def __init__(self, cluster: StoredCluster, store_seconds: Histogram | None = None) -> None:
        self._cluster = cluster
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "apiserver_request",
            "Requests by verb, resource and the code of the answer.",
            [*LABELS, "code"],
            registry=self._registry,
        )
        self._durations = Histogram(
            "apiserver_request_duration_seconds",
            "Time from the request to the answer; of watches, to the beginning of the answer.",
            LABELS,
            buckets=REQUEST_BUCKETS,
            registry=self._registry,
        )
        self._objects = Gauge(
            "apiserver_resource_objects",
            "Objects stored, by resource.",
            ["group", "resource"],
            registry=self._registry,
        )
        self._stored = Gauge(
            "apiserver_storage_objects",
            "The same under an older name.",
            ["resource"],
            registry=self._registry,
        )
        self._watches = Gauge(
            "apiserver_longrunning_requests",
            "Open watches, by resource.",
            ["verb", "group", "version", "resource", "component"],
            registry=self._registry,
        )
        self._revision = Gauge(
            "plimsoll_apiserver_revision_number",
            "The newest durable revision.",
            registry=self._registry,
        )
        if store_seconds is not None:
            self._registry.register(store_seconds)
        ProcessCollector(registry=self._registry)
        self._counters: dict[tuple[Labels, int], Counter] = {}
        self._histograms: dict[Labels, Histogram] = {}

    def observe(self, request: Request, target: Target | None, code: int, seconds: float) -> None:
        """One request, answered."""
        labels = _labels(request, target)
        counter = self._counters.get((labels, code))
        if counter is None:
            counter = self._counters[labels, code] = self._requests.labels(*labels, str(code))
        counter.inc()
        histogram = self._histograms.get(labels)
        if histogram is None:
            histogram = self._histograms[labels] = self._durations.labels(*labels)
        histogram.observe(seconds)

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
        return generate_latest(self._registry).decode()


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
