"""Quick metrics say what those of prometheus_client say."""

from random import Random

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from plimsoll.runtime.quick_metrics import QuickCounter, QuickHistogram

LABELS = ("verb", "code")
BUCKETS = (0.005, 0.1, 1.0, 2, 60)


def told(registry: CollectorRegistry) -> list[str]:
    lines = generate_latest(registry).decode().splitlines()
    return sorted(line for line in lines if "_created" not in line)


def test_metrics_read_as_those_of_prometheus_client() -> None:
    usual, quick = CollectorRegistry(), CollectorRegistry()
    counter = Counter("requests", "Requests.", LABELS, registry=usual)
    histogram = Histogram("request_seconds", "Times.", LABELS, buckets=BUCKETS, registry=usual)
    quick_counter = QuickCounter("requests", "Requests.", LABELS)
    quick_histogram = QuickHistogram("request_seconds", "Times.", LABELS, BUCKETS)
    quick.register(quick_counter)
    quick.register(quick_histogram)
    assert told(quick) == told(usual)
    chance = Random(1)
    for _ in range(300):
        labels = (chance.choice(["GET", "PUT"]), chance.choice(["200", "404"]))
        value = chance.choice([0.0, 0.005, 0.0051, 0.5, 1.0, 2.0, 59.5, 60.0, 61.0])
        counter.labels(*labels).inc()
        histogram.labels(*labels).observe(value)
        quick_counter.add(labels)
        quick_histogram.observe(labels, value)
    assert told(quick) == told(usual)
