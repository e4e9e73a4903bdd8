"""What the modules of this package work with: the client, the enactor, the state, time limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.policy import scheduler_of
from plimsoll.enact.enactor import Enactor
from plimsoll.processes.scheduler.binding.waiters import Waiters
from plimsoll.processes.scheduler.state import SchedulerState
from plimsoll.wire.kube import KubeClient

BIND_TIMEOUT = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingContext:
    client: KubeClient
    enactor: Enactor
    state: SchedulerState
    timeouts: Mapping[str, timedelta] = field(default_factory=dict)
    """How long pods wait for their volumes, by scheduler name; others wait for BIND_TIMEOUT."""
    waiters: Waiters = field(default_factory=Waiters)

    def timeout_of(self, pod: Pod) -> timedelta:
        return self.timeouts.get(scheduler_of(pod), BIND_TIMEOUT)

    def __post_init__(self) -> None:
        self.state.on_observed(self.waiters.observe)
