"""Keeps bound volumes from being deleted: `decide.claims.protection` for every volume."""

from datetime import timedelta

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.claims.protection import decide_volume_protection
from plimsoll.reconcile.loop import Loop, Tools


class VolumeProtection(Loop):
    name = "volume-protection"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._volumes = tools.observed.of(PersistentVolume)
        self._volumes.on_change(self.add_changed)

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        volume = self._volumes.view().get(key)
        if volume is not None:
            await self.enact(key, decide_volume_protection(volume))
        return None
