"""How long calls of provisioners take and how they end, under kube-controller-manager's names."""

from collections.abc import Iterator
from contextlib import contextmanager

from plimsoll.runtime.clock import Clock
from plimsoll.runtime.metrics import Metrics

BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600)
SUCCESS, FAILURE = "success", "fail-unknown"


class ControllerOperationMetrics:
    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._clock = clock
        self._durations = metrics.histogram(
            "storage_operation_duration_seconds",
            "Storage operation duration.",
            ["volume_plugin", "operation_name", "status", "migrated"],
            BUCKETS,
        )
        self._errors = metrics.counter(
            "volume_operation_errors_total",
            "Volume operations that failed.",
            ["plugin_name", "operation_name"],
        )
        self.intents_open = metrics.gauge(
            "plimsoll_controller_intents_open",
            "Volumes that a provisioner inside may have made and that are not recorded yet.",
        )

    @contextmanager
    def measured(self, plugin: str, operation: str) -> Iterator[None]:
        """Around one call of a provisioner; what it raises counts as a failure."""
        began, status = self._clock.monotonic(), FAILURE
        try:
            yield
            status = SUCCESS
        finally:
            took = self._clock.monotonic() - began
            self._durations.labels(plugin, operation, status, "false").observe(took)
            if status == FAILURE:
                self._errors.labels(plugin, operation).inc()
