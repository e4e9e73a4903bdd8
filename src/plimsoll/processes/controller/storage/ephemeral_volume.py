"""Creates the claims of generic ephemeral volumes: `decide.claims.ephemeral` for every such pod."""

from datetime import timedelta

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.cache.store import StoreChange
from plimsoll.decide.claims.ephemeral import (
    creation_failed,
    decide_ephemeral_claims,
    has_ephemeral_volumes,
)
from plimsoll.decide.plan import Create, Plan
from plimsoll.enact.enactor import Obstacle
from plimsoll.reconcile.indexes import PODS_BY_CLAIM, claims_of
from plimsoll.reconcile.loop import Loop, Tools


class EphemeralVolumeLoop(Loop):
    name = "ephemeral-volume"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._pods = tools.observed.of(Pod)
        self._claims = tools.observed.of(PersistentVolumeClaim)
        self._pods.index(PODS_BY_CLAIM, claims_of)
        self._pods.on_change(self._pod_changed)
        self._claims.on_change(self._claim_changed)
        self._attempts = tools.metrics.counter(
            "ephemeral_volume_controller_create_total",
            "Claims of ephemeral volumes that were to be created.",
        )
        self._failures = tools.metrics.counter(
            "ephemeral_volume_controller_create_failures_total",
            "Claims of ephemeral volumes that could not be created.",
        )

    def _pod_changed(self, change: StoreChange[Pod]) -> None:
        """Volumes never change: a pod is looked at when it is new, or new under its name."""
        before, after = change.before, change.after
        is_new = after is not None and (before is None or before.uid != after.uid)
        if is_new and after is not None and has_ephemeral_volumes(after):
            self.queue.add(change.key)

    def _claim_changed(self, change: StoreChange[PersistentVolumeClaim]) -> None:
        """A claim that is gone is made again if its pod is still there."""
        if change.after is not None:
            return
        for key, pod in self._pods.view().by(PODS_BY_CLAIM, str(change.key)).items():
            if has_ephemeral_volumes(pod):
                self.queue.add(key)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        pod = self._pods.view().get(key)
        if pod is None:
            return None
        plan = decide_ephemeral_claims(pod, self._claims.view().objects)
        self._attempts.inc(sum(isinstance(write, Create) for write in plan.writes))
        outcome = await self.enact(key, plan)
        if isinstance(outcome, Obstacle):
            self._failures.inc()
            event = creation_failed(pod, outcome.write, outcome.error.message)
            if event is not None:
                # Not through `enact`: telling about a failure does not end it.
                await self.tools.enactor.enact(Plan(reason=plan.reason, writes=(event,)))
        return None
