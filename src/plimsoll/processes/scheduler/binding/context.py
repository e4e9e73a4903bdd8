"""What everything that binds volumes and pods works with."""

from dataclasses import dataclass, field
from datetime import timedelta

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
    timeout: timedelta = BIND_TIMEOUT
    """How long a pod waits for its volumes."""
    waiters: Waiters = field(default_factory=Waiters)

    def __post_init__(self) -> None:
        self.state.on_observed(self.waiters.observe)
