"""All claims, found by the volume that they name and by their class."""

from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolumeClaim


class ClaimIndex:
    def __init__(self) -> None:
        self.by_key: dict[ObjectKey, PersistentVolumeClaim] = {}
        self._by_volume: dict[str, set[ObjectKey]] = {}
        self._by_class: dict[str, set[ObjectKey]] = {}

    def naming(self, volume: str) -> set[ObjectKey]:
        return self._by_volume.get(volume, set())

    def of_class(self, name: str) -> set[ObjectKey]:
        return self._by_class.get(name, set())

    def put(self, claim: PersistentVolumeClaim) -> None:
        key = claim.key
        old = self.by_key.get(key)
        if old is not None:
            if _names(old) == _names(claim):
                self.by_key[key] = claim
                return
            self.remove(key)
        self.by_key[key] = claim
        for index, name in self._entries(claim):
            index.setdefault(name, set()).add(key)

    def remove(self, key: ObjectKey) -> None:
        claim = self.by_key.pop(key, None)
        if claim is None:
            return
        for index, name in self._entries(claim):
            index[name].discard(key)
            if not index[name]:
                del index[name]

    def _entries(self, claim: PersistentVolumeClaim) -> list[tuple[dict[str, set[ObjectKey]], str]]:
        entries = [(self._by_class, claim.storage_class)]
        if claim.spec.volume_name:
            entries.append((self._by_volume, claim.spec.volume_name))
        return entries

    def fork(self) -> "ClaimIndex":
        twin = ClaimIndex()
        twin.by_key = self.by_key.copy()
        twin._by_volume = {name: keys.copy() for name, keys in self._by_volume.items()}
        twin._by_class = {name: keys.copy() for name, keys in self._by_class.items()}
        return twin


def _names(claim: PersistentVolumeClaim) -> tuple[str, str]:
    """By which it is found."""
    return claim.storage_class, claim.spec.volume_name
