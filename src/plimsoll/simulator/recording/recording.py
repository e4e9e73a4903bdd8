"""What was seen of a run, as plain values; reports are made from nothing else."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class RecordedPodState(StrEnum):
    """Where a pod is on its way, as reports count it."""

    WAITING = "waiting"
    """It has no node."""
    STARTING = "starting"
    """It has a node and does not run yet."""
    RUNNING = "running"
    LEAVING = "leaving"
    """It is being deleted."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """How things stood at one moment."""

    at: float
    """Virtual seconds from when the cluster was up."""
    pods: Mapping[RecordedPodState, int]
    running_by_zone: Mapping[str, int]
    volumes_by_driver: Mapping[str, int]
    attachments: int
    nodes_ready: int
    free_bytes: Mapping[str, int]
    """What drivers can still give, by area (`RecordedArea.name`)."""
    published_bytes: Mapping[str, int]
    """What the scheduler was told, by area; absent where no capacity is published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """How far a run has come."""

    at: float | None
    """Virtual seconds from when the cluster was up; None: it is coming up."""
    pods: Mapping[RecordedPodState, int]
    nodes_ready: int
    nodes: int


@dataclass(slots=True, kw_only=True)
class PodHistory:
    """One pod from its creation to its end; a pod that is replaced begins a new one."""

    name: str
    owner: str
    """The workload that it belongs to: the value of its label `app`, or what owns it."""
    created_at: float
    scheduled_at: float | None = None
    running_at: float | None = None
    evicted_at: float | None = None
    gone_at: float | None = None
    node: str = ""
    zone: str = ""
    message: str = ""
    """Why it has no node, as the scheduler says."""
    state: RecordedPodState = RecordedPodState.WAITING

    @property
    def pending_seconds(self) -> float | None:
        """Until it ran; None: it never did."""
        return None if self.running_at is None else self.running_at - self.created_at


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedArea:
    """The pools of one driver that are in the same zone, or everywhere."""

    driver: str
    zone: str
    """Empty: in no zone alone."""
    size_bytes: int
    pools: int

    @property
    def name(self) -> str:
        return f"{self.driver} {self.zone or 'all zones'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that the scenario did."""

    at: float
    what: str
    is_fault: bool
    lasting: float = 0.0


@dataclass(slots=True, kw_only=True)
class Recording:
    zones: tuple[str, ...]
    nodes: int
    areas: tuple[RecordedArea, ...]
    began_at: float = 0.0
    """When the cluster was up, in virtual seconds from the start of its processes."""
    samples: list[Sample] = field(default_factory=list)
    pods: list[PodHistory] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)
    failed_calls: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """By driver, call and code."""
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By driver and call."""
    refused_nodes: int = 0
    """How often a provisioner took the selected node off a claim."""

    @property
    def evictions(self) -> int:
        return sum(1 for pod in self.pods if pod.evicted_at is not None)

    @property
    def present(self) -> list[PodHistory]:
        """Pods that exist in the end."""
        return [pod for pod in self.pods if pod.gone_at is None]

    @property
    def idle(self) -> list[PodHistory]:
        """Pods that exist in the end, and do not run, and have not ended."""
        fine = (RecordedPodState.RUNNING, RecordedPodState.ENDED)
        return [pod for pod in self.present if pod.state not in fine]
