"""Turns zone labels of volumes, new and old, into node affinity: `decide.claims.zonal`."""

from datetime import timedelta

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.claims.zonal import (
    ZONE_LABELS,
    ZonalReason,
    ZonalUpgrade,
    decide_zonal_upgrade,
    refusal_event,
    zonal_upgrade,
)
from plimsoll.decide.plan import Plan
from plimsoll.enact.enactor import Obstacle
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.wire.errors import Failure


class ZonalUpgrades(Loop):
    name = "zonal-upgrade"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._volumes = tools.observed.of(PersistentVolume)
        self._nodes = tools.observed.of(Node)
        self._volumes.on_change(self.add_changed)
        self._refused: dict[str, ZonalUpgrade] = {}
        """By uid, what the server did not allow: asking for the same again cannot help."""

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        volume = self._volumes.view().get(key)
        if volume is None or not any(name in volume.labels for name in ZONE_LABELS):
            return None  # before all nodes are looked at: hardly a volume has such labels
        labels = [node.labels for node in self._nodes.view().objects.values()]
        upgrade = zonal_upgrade(volume, labels)
        if upgrade.affinity is None or self._refused.get(volume.uid) == upgrade:
            return None
        outcome = await self.enact(key, decide_zonal_upgrade(volume, labels))
        if isinstance(outcome, Obstacle) and outcome.error.failure is Failure.INVALID:
            self._refused[volume.uid] = upgrade
            event = refusal_event(volume, outcome.error.message)
            await self.tools.enactor.enact(Plan(reason=ZonalReason.REFUSED, writes=(event,)))
        return None
