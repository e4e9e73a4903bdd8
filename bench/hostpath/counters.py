"""What the processes count themselves, read from their pages of metrics."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from bench.hostpath.cluster import HostpathCluster

SECONDS = 30
READS = frozenset({"GET", "LIST", "WATCH"})
RECORD_VERBS = frozenset({"POST", "PUT", "DELETE"})
CREATE_VOLUME = "/csi.v1.Controller/CreateVolume"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    requests: float
    writes: float
    record_writes: float
    """Of these: of intents and groups, which are leases. Leases that only tell that a process is
    alive are patched."""
    cpu_seconds: float
    creates: float
    """Calls of CreateVolume that have an answer."""
    failed_creates: float

    def since(self, before: "Counters") -> "Counters":
        return Counters(
            requests=self.requests - before.requests,
            writes=self.writes - before.writes,
            record_writes=self.record_writes - before.record_writes,
            cpu_seconds=self.cpu_seconds - before.cpu_seconds,
            creates=self.creates - before.creates,
            failed_creates=self.failed_creates - before.failed_creates,
        )


def read_counters(cluster: HostpathCluster) -> Counters:
    status, page = cluster.server.endpoint.request("GET", "/metrics")
    assert status == 200, page
    requests = list(_samples(page, "apiserver_request_total"))
    creates = list(_creates(cluster))
    return Counters(
        requests=sum(each.value for each in requests),
        writes=sum(each.value for each in requests if each.labels["verb"] not in READS),
        record_writes=sum(each.value for each in requests if _is_of_a_record(each)),
        cpu_seconds=cluster.target.cpu_seconds() or 0.0,
        creates=sum(each.value for each in creates),
        failed_creates=_failed(creates),
    )


def failed_creates(cluster: HostpathCluster) -> float:
    """So far, whatever the code."""
    return _failed(list(_creates(cluster)))


def _is_of_a_record(sample: Sample) -> bool:
    return sample.labels["resource"] == "leases" and sample.labels["verb"] in RECORD_VERBS


def _failed(creates: list[Sample]) -> float:
    return sum(each.value for each in creates if each.labels["grpc_status_code"] != "OK")


def _creates(cluster: HostpathCluster) -> Iterator[Sample]:
    with urlopen(cluster.provisioner_metrics, timeout=SECONDS) as page:  # noqa: S310 - ours
        text = page.read().decode()
    for sample in _samples(text, "csi_sidecar_operations_seconds_count"):
        if sample.labels["method_name"] == CREATE_VOLUME:
            yield sample


def _samples(page: str, name: str) -> Iterator[Sample]:
    for family in text_string_to_metric_families(page):
        yield from (sample for sample in family.samples if sample.name == name)
