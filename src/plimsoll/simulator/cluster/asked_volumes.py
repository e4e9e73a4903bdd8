"""Which process asked a driver for each of its volumes, by their names.

A name may be used again: csi-provisioner, in our place, asks for the name of a volume that ours has
made and given back. What was asked before the deletion says nothing of the next volume.
"""


class AskedVolumes:
    def __init__(self) -> None:
        self._by_stock: set[str] = set()
        self._by_ours: set[str] = set()
        self._asked_by_stock: dict[str, float] = {}
        """When csi-provisioner has asked last, by the name of the volume."""
        self._deletions: dict[str, float] = {}
        """When the last call to delete it was sent, by the id of the volume."""

    def add(self, name: str, at: float, *, is_stock: bool) -> None:
        """csi-provisioner has asked for it, or else a process of ours."""
        (self._by_stock if is_stock else self._by_ours).add(name)
        if is_stock:
            self._asked_by_stock[name] = at

    def delete(self, volume_id: str, at: float) -> None:
        """A process has asked for its deletion."""
        self._deletions[volume_id] = at

    def is_deleted_behind_stock(self, name: str, volume_id: str) -> bool:
        """Whether csi-provisioner was given the volume while a call to delete it was under way, and
        none was sent since."""
        sent, asked = self._deletions.get(volume_id), self._asked_by_stock.get(name)
        return sent is not None and asked is not None and sent < asked

    def forget(self, name: str) -> None:
        """The volume is deleted."""
        self._by_stock.discard(name)
        self._by_ours.discard(name)

    def is_of_stock(self, name: str) -> bool:
        """Whether csi-provisioner asked for it, and no process of ours."""
        return name in self._by_stock - self._by_ours
