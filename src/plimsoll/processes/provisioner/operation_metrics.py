"""How many volumes were created and deleted, and how long it took, by csi-provisioner's names."""

from enum import StrEnum

from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.provisioning.failures import Problem
from plimsoll.runtime.metrics import Metrics


class AfterFailure(StrEnum):
    """What follows a call that failed."""

    RETRIED = "Retried"
    """The same is tried again after a while."""
    RESCHEDULED = "Rescheduled"
    """The selected node is taken off the claim."""


class ProvisionerOperationMetrics:
    """Durations are those of successes."""

    def __init__(self, metrics: Metrics) -> None:
        claim, volume = "controller_persistentvolumeclaim", "controller_persistentvolume"
        of_claims, of_volumes = ("class", "source"), ("class",)
        self._provisioned = metrics.counter(
            f"{claim}_provision_total", "Volumes that were provisioned.", of_claims
        )
        self._not_provisioned = metrics.counter(
            f"{claim}_provision_failed_total", "Attempts to provision one that failed.", of_claims
        )
        self._provision_seconds = metrics.histogram(
            f"{claim}_provision_duration_seconds", "Time that provisioning one took.", of_claims
        )
        self._deleted = metrics.counter(
            f"{volume}_delete_total", "Volumes that were deleted.", of_volumes
        )
        self._not_deleted = metrics.counter(
            f"{volume}_delete_failed_total", "Attempts to delete one that failed.", of_volumes
        )
        self._delete_seconds = metrics.histogram(
            f"{volume}_delete_duration_seconds", "Time that deleting one took.", of_volumes
        )

        self._refusals = metrics.counter(
            "plimsoll_provisioner_refusals_total",
            "Claims that got no volume, by the problem and what follows.",
            ("problem", "then"),
        )
        self.intents_open = metrics.gauge(
            "plimsoll_provisioner_intents_open",
            "Volumes that the driver may have made and that are not recorded yet.",
        )

    def refused(self, problem: Problem, then: AfterFailure) -> None:
        self._refusals.labels(problem, then).inc()

    def provisioned(self, class_: str, source: str, seconds: float) -> None:
        self._provisioned.labels(class_, source).inc()
        self._provision_seconds.labels(class_, source).observe(seconds)

    def not_provisioned(self, class_: str, source: str) -> None:
        self._not_provisioned.labels(class_, source).inc()

    def deleted(self, class_: str, seconds: float) -> None:
        self._deleted.labels(class_).inc()
        self._delete_seconds.labels(class_).observe(seconds)

    def not_deleted(self, class_: str) -> None:
        self._not_deleted.labels(class_).inc()


def source_of(claim: PersistentVolumeClaim | None) -> str:
    """The kind of what the volume is a copy of, for labels; empty: it is none."""
    source = claim.spec.data_source if claim else None
    return source.kind if source else ""
