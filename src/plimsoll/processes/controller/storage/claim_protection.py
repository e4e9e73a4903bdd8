"""Keeps claims that pods use from being deleted: `decide.claims.protection` for every claim."""

from datetime import timedelta

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.cache.store import StoreChange
from plimsoll.decide.claims.protection import ProtectionReason, decide_claim_protection
from plimsoll.reconcile.indexes import PODS_BY_CLAIM, claims_of
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.wire.kind import typed
from plimsoll.wire.parameters import Selection

PODS = typed(Pod)


class ClaimProtection(Loop):
    name = "claim-protection"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._claims = tools.observed.of(PersistentVolumeClaim)
        self._pods = tools.observed.of(Pod)
        self._claims.on_change(self.add_changed)
        self._pods.index(PODS_BY_CLAIM, claims_of)
        self._pods.on_change(self._pod_changed)

    def _pod_changed(self, change: StoreChange[Pod]) -> None:
        """Before and after: a pod may be replaced by a namesake that uses other claims."""
        for pod in (change.before, change.after):
            for claim in pod.claims if pod is not None else ():
                self.queue.add(claim)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        claim = self._claims.view().get(key)
        if claim is None:
            return None
        known = self._pods.view().by(PODS_BY_CLAIM, str(key)).values()
        plan = decide_claim_protection(claim, known)
        if plan.reason == ProtectionReason.RELEASED:
            # The watch may be delayed: a claim is released only on what the server itself says.
            listed = await self.tools.client.list(PODS, Selection(namespace=key.namespace))
            plan = decide_claim_protection(claim, listed.items)
        await self.enact(key, plan)
        return None
