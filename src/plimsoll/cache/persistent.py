"""A mapping that never changes: an update makes a new one that shares nearly everything.

This is what makes a snapshot cost nothing: keeping the old mapping is taking a snapshot. Entries
lie in buckets; an update copies one bucket and the list of buckets, a few microseconds even with
a hundred thousand entries. The order of iteration depends on the keys and on the updates that
led here, never on the process.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar
from zlib import crc32

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

BUCKET_SIZE = 32
GROWTH = 4


def _place(key: object) -> int:
    """Python's own hash of a string differs from process to process."""
    if isinstance(key, str):
        return crc32(key.encode())
    if isinstance(key, tuple):
        return crc32("\0".join(map(str, key)).encode())
    return crc32(repr(key).encode())


class PersistentMap(Mapping[K, V], Generic[K, V]):
    __slots__ = ("_buckets", "_size")

    def __init__(self, entries: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        content = dict(entries)
        self._size = len(content)
        self._buckets = _spread(content, _buckets_for(len(content)))

    @classmethod
    def _of(cls, buckets: list[dict[K, V]], size: int) -> "PersistentMap[K, V]":
        made = cls.__new__(cls)
        made._buckets, made._size = buckets, size  # noqa: SLF001 - one of us
        return made

    def __getitem__(self, key: K) -> V:
        return self._buckets[_place(key) % len(self._buckets)][key]

    def get(self, key: K, default: V | None = None) -> V | None:  # type: ignore[override] # the one form that is used, without its overloads
        return self._buckets[_place(key) % len(self._buckets)].get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._buckets[_place(key) % len(self._buckets)]

    def __iter__(self) -> Iterator[K]:
        for bucket in self._buckets:
            yield from bucket

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"PersistentMap({dict(self)!r})"

    def with_(self, key: K, value: V) -> "PersistentMap[K, V]":
        buckets = self._buckets
        if self._size >= len(buckets) * BUCKET_SIZE:
            buckets = _spread(dict(self), len(buckets) * GROWTH)
        place = _place(key) % len(buckets)
        bucket = buckets[place]
        changed = buckets.copy()
        changed[place] = {**bucket, key: value}
        return PersistentMap._of(changed, self._size + (key not in bucket))

    def without(self, key: K) -> "PersistentMap[K, V]":
        place = _place(key) % len(self._buckets)
        if key not in self._buckets[place]:
            return self
        changed = self._buckets.copy()
        changed[place] = {k: v for k, v in changed[place].items() if k != key}
        return PersistentMap._of(changed, self._size - 1)


def _buckets_for(size: int) -> int:
    count = 1
    while size > count * BUCKET_SIZE:
        count *= GROWTH
    return count


def _spread(content: Mapping[K, V], count: int) -> list[dict[K, V]]:
    buckets: list[dict[K, V]] = [{} for _ in range(count)]
    for key, value in content.items():
        buckets[_place(key) % count][key] = value
    return buckets
