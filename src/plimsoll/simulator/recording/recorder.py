"""Looks on while a scenario is played, and changes nothing: a run is the same with and without.

It counts with every change that becomes durable, and takes a sample when the first change after a
sample's moment comes; the sample shows how things stood before that change.
"""

from collections import Counter
from collections.abc import Callable, Mapping

from plimsoll.api.quantity import parse_bytes
from plimsoll.api.registry import Document
from plimsoll.simulator.cluster.driver_host import DriverHost
from plimsoll.simulator.cluster.mirror import ATTACHMENTS, CAPACITIES, CLAIMS, NODES, PODS, VOLUMES
from plimsoll.simulator.cluster.shape import ClusterShape, SimulatedDriver
from plimsoll.simulator.cluster.simulated_cluster import SimulatedCluster
from plimsoll.simulator.recording.recording import (
    Happening,
    PodHistory,
    RecordedArea,
    RecordedPodState,
    Recording,
    RunProgress,
    Sample,
)
from plimsoll.simulator.scenario.actions import AnyAction
from plimsoll.simulator.scenario.faults import AnyFault
from plimsoll.simulator.scenario.telling import line_of

SELECTED_NODE = "volume.kubernetes.io/selected-node"
MOST_SAMPLES = 400
OK = "OK"
NEVER = float("inf")

OnChange = Callable[["Recorder"], None]
"""Called with every change; it may ask for the progress."""


class Recorder:
    """Implements `run.Observer`."""

    def __init__(
        self, every_seconds: float = 5.0, on_change: OnChange = lambda _recorder: None
    ) -> None:
        self._every = every_seconds
        self._on_change = on_change
        self._next = NEVER
        self._cluster: SimulatedCluster | None = None
        self._recording: Recording | None = None
        self._pods: dict[str, PodHistory] = {}
        """Those that exist, by key."""
        self._uids: dict[str, str] = {}
        self._states: Counter[RecordedPodState] = Counter()
        self._running: Counter[str] = Counter()
        self._volumes: Counter[str] = Counter()
        self._ready: set[str] = set()
        self._zone_of: dict[str, str] = {}
        self._published: dict[str, tuple[str, str, int]] = {}
        """Class, area and bytes, by the key of a capacity object."""
        self._free: dict[str, dict[str, int]] = {}
        self._area_of_pool: dict[tuple[str, str], str] = {}
        """By driver and pool."""
        self._names: set[str] = set()
        """Of all areas."""
        self._driver_of: dict[str, str] = {}
        """By class."""

    @property
    def recording(self) -> Recording:
        assert self._recording is not None  # noqa: S101 - asked for after the run
        return self._recording

    def progress(self) -> RunProgress:
        is_up = self._next is not NEVER
        return RunProgress(
            at=self._now - self.recording.began_at if is_up else None,
            pods={state: self._states[state] for state in RecordedPodState},
            nodes_ready=len(self._ready),
            nodes=self.recording.nodes,
        )

    # From the run

    def attach(self, cluster: SimulatedCluster) -> None:
        """Before the cluster starts."""
        shape = cluster.shape
        self._cluster = cluster
        self._zone_of = {node.name: node.zone for node in shape.nodes}
        self._places = RecordedPlaces(shape)
        self._recording = Recording(
            zones=shape.zones,
            nodes=len(shape.nodes),
            areas=tuple(a for driver in shape.drivers for a in areas_of(driver, self._places)),
        )
        self._names = {area.name for area in self._recording.areas}
        self._area_of_pool = {
            (driver.name, pool["name"]): _area_name(driver.name, self._places.zone_of_pool(pool))
            for driver in shape.drivers
            for pool in driver.pools
        }
        self._driver_of = {each.name: each.driver for each in shape.classes}
        cluster.mirror.on_change.append(self._changed)
        for host in cluster.drivers.values():
            host.on_answer.append(self._answered)

    def begin(self) -> None:
        """The cluster is up: what the scenario says begins to happen."""
        self.recording.began_at = self._next = self._now
        self._sample_until(self._now)

    def happened(self, event: AnyAction | AnyFault) -> None:
        self._sample_until(self._now)
        at = self._now - self.recording.began_at
        self.recording.happenings.append(
            Happening(
                at=at,
                what=line_of(event),
                is_fault=isinstance(event, AnyFault),
                lasting=getattr(event, "lasting", 0.0),
            )
        )

    def end(self) -> None:
        self._sample_until(self._now)
        self._next = self._now
        self._sample_until(self._now)

    @property
    def _now(self) -> float:
        assert self._cluster is not None  # noqa: S101 - attached by then
        return self._cluster.network.loop.time()

    # What is counted

    def _answered(self, host: DriverHost, method: str, code: str) -> None:
        call = method.rpartition("/")[2]
        self.recording.calls[host.name, call] += 1
        if code != OK:
            self.recording.failed_calls[host.name, call, code] += 1

    def _changed(
        self, kind: str, key: str, before: Document | None, after: Document | None
    ) -> None:
        self._sample_until(self._now)
        if kind == PODS:
            self._pod(key, after)
        elif kind == CLAIMS:
            self._claim(before, after)
        elif kind == VOLUMES:
            self._volume(before, after)
        elif kind == NODES:
            self._node(key, after)
        elif kind == CAPACITIES:
            self._capacity(key, after)
        self._on_change(self)

    def _pod(self, key: str, pod: Document | None) -> None:
        known = self._pods.get(key)
        uid = "" if pod is None else pod["metadata"]["uid"]
        if known is not None and uid != self._uids[key]:
            self._leave(key, known)
            known = None
        if pod is None:
            return
        if known is None:
            known = PodHistory(name=key, owner=_owner(pod), created_at=self._now)
            self._pods[key], self._uids[key] = known, uid
            self.recording.pods.append(known)
        else:
            self._count(known, -1)
        self._note(known, pod)
        self._count(known, 1)

    def _leave(self, key: str, known: PodHistory) -> None:
        self._count(known, -1)
        known.gone_at = self._now
        del self._pods[key], self._uids[key]

    def _count(self, pod: PodHistory, step: int) -> None:
        self._states[pod.state] += step
        if pod.state is RecordedPodState.RUNNING:
            self._running[pod.zone] += step

    def _note(self, known: PodHistory, pod: Document) -> None:
        status = pod.get("status") or {}
        node = pod["spec"].get("nodeName", "")
        if node and known.scheduled_at is None:
            known.scheduled_at, known.node = self._now, node
            known.zone = self._zone_of.get(node, "")
        known.state = _state(pod)
        known.message = _message(status)
        if known.running_at is None and known.state in (
            RecordedPodState.RUNNING,
            RecordedPodState.ENDED,
        ):
            known.running_at = self._now
        if known.evicted_at is None and _is_evicted(status):
            known.evicted_at = self._now

    def _claim(self, before: Document | None, after: Document | None) -> None:
        """A selected node that is taken off a claim that still waits."""
        if before is None or after is None or after["spec"].get("volumeName"):
            return
        had = SELECTED_NODE in (before["metadata"].get("annotations") or {})
        has = SELECTED_NODE in (after["metadata"].get("annotations") or {})
        self.recording.refused_nodes += had and not has

    def _volume(self, before: Document | None, after: Document | None) -> None:
        for document, step in ((before, -1), (after, 1)):
            if document is not None:
                driver = (document["spec"].get("csi") or {}).get("driver", "")
                self._volumes[driver] += step

    def _node(self, key: str, node: Document | None) -> None:
        conditions = [] if node is None else (node.get("status") or {}).get("conditions") or []
        is_ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
        (self._ready.add if is_ready else self._ready.discard)(key)

    def _capacity(self, key: str, capacity: Document | None) -> None:
        class_name = "" if capacity is None else capacity["storageClassName"]
        driver = self._driver_of.get(class_name)
        if capacity is None or driver is None:
            self._published.pop(key, None)
            return
        labels = (capacity.get("nodeTopology") or {}).get("matchLabels") or {}
        segment = {name.rpartition("/")[2]: value for name, value in labels.items()}
        told = parse_bytes(str(capacity.get("capacity", "0")))
        area = _area_name(driver, self._places.zone_of(segment))
        self._published[key] = (class_name, area, told)

    # Samples

    def _sample_until(self, now: float) -> None:
        while self._next <= now:
            sample = self._sample(self._next - self.recording.began_at)
            self.recording.samples.append(sample)
            self._next += self._every
        if len(self.recording.samples) > MOST_SAMPLES:
            self._thin()

    def _thin(self) -> None:
        """A long run gets fewer samples, not more memory."""
        self.recording.samples[:] = self.recording.samples[::2]
        self._every *= 2

    def _sample(self, at: float) -> Sample:
        assert self._cluster is not None  # noqa: S101 - attached by then
        for host in self._cluster.drivers.values():
            self._look_at(host)
        return Sample(
            at=at,
            pods={state: self._states[state] for state in RecordedPodState},
            running_by_zone={zone: self._running[zone] for zone in self.recording.zones},
            volumes_by_driver={name: self._volumes[name] for name in self._cluster.drivers},
            attachments=len(self._cluster.mirror.objects[ATTACHMENTS]),
            nodes_ready=len(self._ready),
            free_bytes={area: free for each in self._free.values() for area, free in each.items()},
            published_bytes=self._published_by_area(),
        )

    def _published_by_area(self) -> dict[str, int]:
        """Each class of a driver is told the same room: the most that one is told. So is each zone
        that reaches the same pools."""
        by_class: Counter[tuple[str, str]] = Counter()
        most: dict[str, int] = {}
        for class_name, area, told in self._published.values():
            if area in self._names:
                by_class[area, class_name] += told
            else:
                shared = _area_name(self._driver_of[class_name], "")
                most[shared] = max(most.get(shared, 0), told)
        for (area, _), told in by_class.items():
            most[area] = max(most.get(area, 0), told)
        return most

    def _look_at(self, host: DriverHost) -> None:
        """What is free of its pools; as before while it does not answer."""
        if host.driver is None and host.name in self._free:
            return
        free = {a.name: a.size_bytes for a in self.recording.areas if a.driver == host.name}
        promised = {} if host.driver is None else host.driver.records.charges().promised
        for pool, taken in promised.items():
            area = self._area_of_pool.get((host.name, pool))
            if area is not None:
                free[area] -= taken
        self._free[host.name] = free


class RecordedPlaces:
    """In which zones racks and hosts are."""

    def __init__(self, shape: ClusterShape) -> None:
        self.zones = shape.zones
        self._zone_of = {("zone", zone): zone for zone in shape.zones}
        self._zone_of |= {("rack", node.rack): node.zone for node in shape.nodes}
        self._zone_of |= {("host", node.name): node.zone for node in shape.nodes}

    def zone_of(self, segment: Mapping[str, str]) -> str:
        """Empty: in no zone alone."""
        return next((self._zone_of[p] for p in segment.items() if p in self._zone_of), "")

    def zone_of_pool(self, pool: Document) -> str:
        topology = pool.get("topology") or {}
        segments = [topology] if isinstance(topology, dict) else topology
        zones = {self.zone_of(segment) for segment in segments}
        return zones.pop() if len(zones) == 1 else ""


def areas_of(driver: SimulatedDriver, places: RecordedPlaces) -> list[RecordedArea]:
    """In the order of the zones; pools in no zone alone come last."""
    sizes: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for pool in driver.pools:
        zone = places.zone_of_pool(pool)
        sizes[zone] += parse_bytes(str(pool["size"]))
        counts[zone] += 1
    order = [*places.zones, ""]
    return [
        RecordedArea(driver=driver.name, zone=zone, size_bytes=sizes[zone], pools=counts[zone])
        for zone in sorted(sizes, key=order.index)
    ]


def _area_name(driver: str, zone: str) -> str:
    return RecordedArea(driver=driver, zone=zone, size_bytes=0, pools=0).name


def _owner(pod: Document) -> str:
    labels = pod["metadata"].get("labels") or {}
    owners = pod["metadata"].get("ownerReferences") or ()
    named = next((each["name"] for each in owners), pod["metadata"]["name"])
    return str(labels.get("app") or named)


def _state(pod: Document) -> RecordedPodState:
    phase = (pod.get("status") or {}).get("phase")
    if phase in ("Succeeded", "Failed"):
        return RecordedPodState.ENDED
    if "deletionTimestamp" in pod["metadata"]:
        return RecordedPodState.LEAVING
    if phase == "Running":
        return RecordedPodState.RUNNING
    return RecordedPodState.STARTING if pod["spec"].get("nodeName") else RecordedPodState.WAITING


def _message(status: Document) -> str:
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message", ""))
    return ""


def _is_evicted(status: Document) -> bool:
    conditions = status.get("conditions") or ()
    return any(c["type"] == "DisruptionTarget" and c["status"] == "True" for c in conditions)
