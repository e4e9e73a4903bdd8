"""Metrics of what happens for every request: to count costs a look-up and an addition.

prometheus_client locks, checks and adds up in Python at every observation, and makes some thirty
objects for each new combination of labels. Here that is left to the moment in which the metrics are
read. Each metric is written by one thread; another one may read it.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

Labels = tuple[str, ...]


class QuickCounter(Collector):
    def __init__(self, name: str, about: str, labels: Sequence[str]) -> None:
        self._family = (name, about, None, labels)
        self._counts: Counter[Labels] = Counter()

    def add(self, labels: Labels) -> None:
        self._counts[labels] += 1

    def collect(self) -> Iterator[CounterMetricFamily]:
        family = CounterMetricFamily(*self._family)
        for labels, count in sorted(self._counts.items()):
            family.add_metric(labels, count)
        yield family


class QuickHistogram(Collector):
    def __init__(
        self, name: str, about: str, labels: Sequence[str], buckets: Sequence[float]
    ) -> None:
        """`buckets` are upper bounds, in order; the last one, infinity, is added."""
        self._name, self._about, self._labels = name, about, labels
        self._bounds = tuple(buckets)
        self._seen: dict[Labels, list[float]] = {}
        """How many values are in each bucket, and at last their sum."""

    def observe(self, labels: Labels, value: float) -> None:
        seen = self._seen.get(labels)
        if seen is None:
            seen = self._seen[labels] = [0.0] * (len(self._bounds) + 2)
        seen[bisect_left(self._bounds, value)] += 1
        seen[-1] += value

    def collect(self) -> Iterator[HistogramMetricFamily]:
        family = HistogramMetricFamily(self._name, self._about, labels=self._labels)
        names = [*map(floatToGoString, self._bounds), "+Inf"]
        for labels, seen in sorted(self._seen.items()):
            up_to = accumulate(seen[:-1])
            family.add_metric(labels, [*zip(names, up_to, strict=True)], seen[-1])
        yield family
