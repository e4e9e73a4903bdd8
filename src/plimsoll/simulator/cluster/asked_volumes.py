"""Which process asked a driver for each of its volumes, by their names.

A name may be used again: csi-provisioner, in our place, asks for the name of a volume that ours has
made and given back. What was asked before the deletion says nothing of the next volume.
"""


class AskedVolumes:
    def __init__(self) -> None:
        self._by_stock: set[str] = set()
        self._by_ours: set[str] = set()

    def add(self, name: str, *, is_stock: bool) -> None:
        """csi-provisioner has asked for it, or else a process of ours."""
        (self._by_stock if is_stock else self._by_ours).add(name)

    def forget(self, name: str) -> None:
        """The volume is deleted."""
        self._by_stock.discard(name)
        self._by_ours.discard(name)

    def is_of_stock(self, name: str) -> bool:
        """Whether csi-provisioner asked for it, and no process of ours."""
        return name in self._by_stock - self._by_ours
