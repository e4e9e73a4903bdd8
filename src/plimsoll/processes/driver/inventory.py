"""What a driver has, as metrics: volumes and snapshots by its records, capacity as it last looked.

Capacity is what the backend said when a volume was placed or GetCapacity was answered: asking it
anew may run commands, and reading metrics must not set those off.
"""

from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from plimsoll.processes.driver.core import Driver
from plimsoll.processes.driver.records import RecordPhase

GetDriver = Callable[[], Driver | None]
"""None: it is not there yet."""


class Inventory(Collector):
    def __init__(self, driver: GetDriver) -> None:
        self._driver = driver

    def collect(self) -> Iterator[GaugeMetricFamily]:
        driver = self._driver()
        volumes, snapshots = driver.records.seen() if driver else ((), ())
        yield _by_phase(
            "plimsoll_driver_volumes", "Volumes.", Counter(each.phase for each in volumes)
        )
        yield _by_phase(
            "plimsoll_driver_snapshots", "Snapshots.", Counter(each.phase for each in snapshots)
        )
        sizes = sum(each.size_bytes for each in volumes)
        yield GaugeMetricFamily("plimsoll_driver_volume_bytes", "Sizes of volumes, in sum.", sizes)
        extents = {} if driver is None else driver.last_extents
        yield GaugeMetricFamily(
            "plimsoll_driver_capacity_bytes",
            "All that volumes can be made of, when last looked at.",
            sum(each.total_bytes for each in extents.values()),
        )
        yield GaugeMetricFamily(
            "plimsoll_driver_capacity_free_bytes",
            "What of it was not promised to a volume, when last looked at.",
            sum(each.free_bytes for each in extents.values()),
        )


def _by_phase(name: str, about: str, found: Counter[RecordPhase]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about, labels=["phase"])
    for phase in RecordPhase:
        family.add_metric([phase], found[phase])
    return family
