"""Objects of RADOS and their keys: reading, and writing on a condition, all or nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from plimsoll.wire.ceph.connection import CephConnection, Ioctx, PoolScope
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.interfaces import OmapValues

T = TypeVar("T")

PAGE = 1000
"""Keys read at once; an OSD gives no more than 1024, however many are asked for."""


class Creating(StrEnum):
    EXCLUSIVE = "Exclusive"
    """The object must not exist yet."""
    IDEMPOTENT = "Idempotent"
    """It may exist."""
    IMPLIED = "Implied"
    """Setting a key creates it; comparing or removing one needs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectWrite:
    """Carried out as a whole or not at all: conditions first, then set, then remove."""

    creating: Creating = Creating.IMPLIED
    expected: Mapping[str, str] = field(default_factory=dict)
    """Empty: the key must not be there, or be empty."""
    values: Mapping[str, str] = field(default_factory=dict)
    removed: Sequence[str] = ()


class RadosObjects:
    """Those of one pool and namespace. Every method raises CephError."""

    def __init__(self, connection: CephConnection, scope: PoolScope) -> None:
        self._connection = connection
        self._scope = scope

    async def keys(self, name: str, keys: Sequence[str]) -> dict[str, str]:
        """The values of those that are there."""
        return await self._on_pool(lambda opened: self._keys(opened, name, keys))

    def _keys(self, opened: Ioctx, name: str, keys: Sequence[str]) -> dict[str, str]:
        with self._connection.bindings.rados.ReadOpCtx() as operation:
            found, _ = opened.get_omap_vals_by_keys(operation, tuple(keys))
            opened.operate_read_op(operation, name)
            return _texts(found)

    async def keys_from(self, name: str, prefix: str) -> dict[str, str]:
        """All that begin with the prefix, in order."""
        return await self._on_pool(lambda opened: self._keys_from(opened, name, prefix))

    def _keys_from(self, opened: Ioctx, name: str, prefix: str) -> dict[str, str]:
        every: dict[str, str] = {}
        while page := self._page(opened, name, prefix, max(every, default="")):
            every |= page
        return every

    def _page(self, opened: Ioctx, name: str, prefix: str, after: str) -> dict[str, str]:
        with self._connection.bindings.rados.ReadOpCtx() as operation:
            found, _ = opened.get_omap_vals(operation, after, prefix, PAGE)
            opened.operate_read_op(operation, name)
            return _texts(found)

    async def write(self, name: str, write: ObjectWrite) -> None:
        await self._on_pool(lambda opened: self._write(opened, name, write))

    def _write(self, opened: Ioctx, name: str, write: ObjectWrite) -> None:
        rados = self._connection.bindings.rados
        creation = {
            Creating.EXCLUSIVE: rados.LIBRADOS_CREATE_EXCLUSIVE,
            Creating.IDEMPOTENT: rados.LIBRADOS_CREATE_IDEMPOTENT,
        }
        with rados.WriteOpCtx() as operation:
            if write.creating in creation:
                operation.new(creation[write.creating])
            for key, value in write.expected.items():
                operation.omap_cmp(key, value, rados.LIBRADOS_CMPXATTR_OP_EQ)
            if write.values:
                values = tuple(value.encode() for value in write.values.values())
                opened.set_omap(operation, tuple(write.values), values)
            if write.removed:
                opened.remove_omap_keys(operation, tuple(write.removed))
            opened.operate_write_op(operation, name)

    async def remove(self, name: str) -> None:
        await self._on_pool(lambda opened: opened.remove_object(name))

    async def exists(self, name: str) -> bool:
        try:
            await self._on_pool(lambda opened: opened.stat(name))
        except CephError as error:
            if error.failure is CephFailure.NOT_FOUND:
                return False
            raise
        return True

    async def names(self) -> list[str]:
        return await self._on_pool(lambda opened: [item.key for item in opened.list_objects()])

    async def _on_pool(self, function: Callable[[Ioctx], T]) -> T:
        return await self._connection.on_pool(self._scope, function)


def _texts(found: OmapValues) -> dict[str, str]:
    """Debian's module gives None for an empty value."""
    return {key: (value or b"").decode(errors="replace") for key, value in found}
