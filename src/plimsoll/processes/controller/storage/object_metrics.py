"""What is counted about claims and volumes, under kube-controller-manager's names."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from plimsoll.api.volumes import FILESYSTEM, PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.claims.writes import ClaimPhase, VolumePhase
from plimsoll.runtime.metrics import Metrics

UNKNOWN_PLUGIN = "N/A"


class DefaultClassMetrics:
    """Claims without a class that got, or did not get, the default one."""

    def __init__(self, metrics: Metrics) -> None:
        self._assigned = metrics.counter(
            "retroactive_storageclass_total", "Claims that got the default class after the fact."
        )
        self._failed = metrics.counter(
            "retroactive_storageclass_errors_total", "Claims that could not be given it."
        )

    def count(self, *, is_written: bool) -> None:
        (self._assigned if is_written else self._failed).inc()


class ObjectCounts(Collector):
    """Claims and volumes, counted when the metrics are collected."""

    def __init__(
        self,
        claims: Callable[[], Iterable[PersistentVolumeClaim]],
        volumes: Callable[[], Iterable[PersistentVolume]],
    ) -> None:
        self._claims = claims
        self._volumes = volumes

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield from self._count_volumes()
        yield from self._count_claims()

    def _count_volumes(self) -> Iterator[GaugeMetricFamily]:
        bound: Counter[tuple[str, ...]] = Counter()
        unbound: Counter[tuple[str, ...]] = Counter()
        total: Counter[tuple[str, ...]] = Counter()
        for volume in self._volumes():
            total[_plugin(volume), volume.spec.volume_mode or FILESYSTEM] += 1
            side = bound if volume.status.phase == VolumePhase.BOUND else unbound
            side[(volume.spec.storage_class_name,)] += 1
        by_class = ("storage_class",)
        yield _gauge("total_pv_count", "All volumes.", ("plugin_name", "volume_mode"), total)
        yield _gauge("bound_pv_count", "Volumes that are bound.", by_class, bound)
        yield _gauge("unbound_pv_count", "Volumes that are not bound.", by_class, unbound)

    def _count_claims(self) -> Iterator[GaugeMetricFamily]:
        bound: Counter[tuple[str, ...]] = Counter()
        unbound: Counter[tuple[str, ...]] = Counter()
        for claim in self._claims():
            attributes = claim.spec.volume_attributes_class_name or ""
            side = bound if claim.status.phase == ClaimPhase.BOUND else unbound
            side[claim.namespace, claim.storage_class, attributes] += 1
        labels = ("namespace", "storage_class", "volume_attributes_class")
        yield _gauge("bound_pvc_count", "Claims that are bound.", labels, bound)
        yield _gauge("unbound_pvc_count", "Claims that are not bound.", labels, unbound)


def _gauge(
    name: str, about: str, labels: tuple[str, ...], counts: Counter[tuple[str, ...]]
) -> GaugeMetricFamily:
    gauge = GaugeMetricFamily(f"pv_collector_{name}", about, labels=labels)
    for values, number in sorted(counts.items()):
        gauge.add_metric(values, number)
    return gauge


def _plugin(volume: PersistentVolume) -> str:
    spec = volume.spec
    if spec.csi is not None:
        return f"kubernetes.io/csi:{spec.csi.driver}"
    plugins = {
        "kubernetes.io/host-path": spec.host_path,
        "kubernetes.io/local-volume": spec.local,
        "kubernetes.io/nfs": spec.nfs,
        "kubernetes.io/iscsi": spec.iscsi,
    }
    return next((name for name, source in plugins.items() if source), UNKNOWN_PLUGIN)
