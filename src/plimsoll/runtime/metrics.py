"""Metrics of one process, in Prometheus' text format.

Each process owns a registry of its own: in the simulator and in `plimsoll up` many live in one
interpreter. Names are `plimsoll_<process>_<noun>_<unit>`; labels are enums, never object names.
Keep the child that `labels()` returns where speed matters.
"""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics import MetricWrapperBase

M = TypeVar("M", bound=MetricWrapperBase)

CONTENT_TYPE = CONTENT_TYPE_LATEST


class Children(Generic[M]):
    """The children of a metric that were asked for, each found at once the next time."""

    def __init__(self, parent: M) -> None:
        self._parent = parent
        self._known: dict[tuple[str, ...], M] = {}

    def labels(self, *values: str) -> M:
        found = self._known.get(values)
        if found is None:
            found = self._known[values] = self._parent.labels(*values)
        return found


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self._by_name: dict[str, MetricWrapperBase] = {}

    def counter(self, name: str, documentation: str, labels: Sequence[str] = ()) -> Counter:
        """Asking twice for one name gives the same metric."""
        return self._once(Counter, name, documentation, labels)

    def gauge(self, name: str, documentation: str, labels: Sequence[str] = ()) -> Gauge:
        return self._once(Gauge, name, documentation, labels)

    def histogram(
        self,
        name: str,
        documentation: str,
        labels: Sequence[str] = (),
        buckets: Sequence[float] = Histogram.DEFAULT_BUCKETS,
    ) -> Histogram:
        return self._once(Histogram, name, documentation, labels, buckets=buckets)

    def exposition(self) -> bytes:
        """What `/metrics` answers, with CONTENT_TYPE."""
        return generate_latest(self.registry)

    def _once(
        self, form: type[M], name: str, documentation: str, labels: Sequence[str], **more: Any
    ) -> M:
        known = self._by_name.get(name)
        if known is None:
            known = form(name, documentation, labels, registry=self.registry, **more)
            self._by_name[name] = known
        if not isinstance(known, form):
            raise TypeError(f"metric {name} exists and is not a {form.__name__.lower()}")
        return known
