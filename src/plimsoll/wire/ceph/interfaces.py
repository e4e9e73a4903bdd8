"""Functions of Ceph's modules `rados` and `rbd` that Plimsoll calls: Debian's modules, or ours
by ctypes.

Debian's carry no types. Everything else in this package is checked against these, and so are those
in `ctypes_bindings`. Names and meanings are those of Debian's modules.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

OmapValues = Iterable[tuple[str, bytes | None]]
"""Keys of an object with their values. Debian's module gives None for an empty one."""


class Closing(Protocol):
    """Held for the length of a `with` block."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> bool | None: ...


class ReadOperation(Closing, Protocol):
    """What is to be read of an object."""


class WriteOperation(Closing, Protocol):
    """What is to be done to an object, as a whole or not at all."""

    def new(self, exclusive: int, /) -> None: ...
    def omap_cmp(self, key: str, value: str, operator: int, /) -> None: ...


class ListedObject(Protocol):
    @property
    def key(self) -> str: ...


class OpenPool(Closing, Protocol):
    def set_osdmap_full_try(self) -> None: ...
    def set_namespace(self, namespace: str, /) -> None: ...
    def stat(self, name: str, /) -> object: ...
    def remove_object(self, name: str, /) -> object: ...
    def list_objects(self) -> Iterable[ListedObject]: ...

    def get_omap_vals_by_keys(
        self, operation: ReadOperation, keys: Sequence[str], /
    ) -> tuple[OmapValues, int]:
        """The values can be read after the operation was carried out, and before it is closed."""
        ...

    def get_omap_vals(
        self, operation: ReadOperation, after: str, prefix: str, most: int, /
    ) -> tuple[OmapValues, int]: ...
    def operate_read_op(self, operation: ReadOperation, name: str, /) -> None: ...
    def set_omap(
        self, operation: WriteOperation, keys: Sequence[str], values: Sequence[bytes], /
    ) -> None: ...
    def remove_omap_keys(self, operation: WriteOperation, keys: Sequence[str], /) -> None: ...
    def operate_write_op(self, operation: WriteOperation, name: str, /) -> None: ...


class ClusterCalls(Protocol):
    def connect(self) -> None: ...
    def shutdown(self) -> None: ...
    def get_fsid(self) -> str: ...
    def get_addrs(self) -> str: ...
    def wait_for_latest_osdmap(self) -> object: ...
    def open_ioctx(self, pool: str, /) -> OpenPool: ...
    def mon_command(self, command: str, given: bytes, /) -> tuple[int, bytes, str]:
        """The number of the error, the output, and a remark."""
        ...


class RadosModule(Protocol):
    @property
    def Error(self) -> type[Exception]:
        """Of which all others are. Most have `errno`."""
        ...

    @property
    def ObjectNotFound(self) -> type[Exception]: ...
    @property
    def LIBRADOS_CREATE_EXCLUSIVE(self) -> int: ...
    @property
    def LIBRADOS_CREATE_IDEMPOTENT(self) -> int: ...
    @property
    def LIBRADOS_CMPXATTR_OP_EQ(self) -> int: ...
    def Rados(self, *, rados_id: str, conf: Mapping[str, str]) -> ClusterCalls: ...
    def ReadOpCtx(self) -> ReadOperation: ...
    def WriteOpCtx(self) -> WriteOperation: ...


OnProgress = Callable[[int, int], int]
"""Called with the steps that are done and all that there are; answers 0, and raises nothing."""


class OpenImage(Closing, Protocol):
    def id(self) -> str: ...
    def size(self) -> int: ...
    def data_pool_id(self) -> int: ...
    def list_snaps(self) -> Iterable[Mapping[str, str]]:
        """Each has a `name`."""
        ...

    def watchers_list(self) -> Iterable[Mapping[str, str]]:
        """Each has an `addr`."""
        ...

    def parent_info(self) -> object:
        """Raises ImageNotFound if it has none."""
        ...

    def resize(self, size: int, /) -> None: ...
    def create_snap(self, name: str, /) -> None: ...
    def remove_snap(self, name: str, /) -> None: ...
    def flatten(self, on_progress: OnProgress) -> None: ...
    def diff_iterate(
        self,
        offset: int,
        length: int,
        from_snapshot: str | None,
        iterate_cb: Callable[[int, int, bool], None],
        include_parent: bool,
        whole_object: bool,
        /,
    ) -> None: ...


class ImageCalls(Protocol):
    def list(self, pool: OpenPool, /) -> list[str]: ...
    def remove(self, pool: OpenPool, name: str, /, on_progress: OnProgress) -> None: ...
    def features_from_string(self, names: str, /) -> int: ...
    def create(
        self,
        pool: OpenPool,
        name: str,
        size: int,
        /,
        *,
        old_format: bool,
        features: int,
        data_pool: str | None,
    ) -> None: ...
    def clone(
        self,
        pool: OpenPool,
        name: str,
        snapshot: str,
        to_pool: OpenPool,
        to_name: str,
        /,
        *,
        features: int,
        data_pool: str | None,
    ) -> None: ...


class RbdModule(Protocol):
    @property
    def Error(self) -> type[Exception]: ...
    @property
    def ImageNotFound(self) -> type[Exception]: ...
    def RBD(self) -> ImageCalls: ...
    def Image(
        self, pool: OpenPool, name: str, /, *, snapshot: str | None = None, read_only: bool = False
    ) -> OpenImage: ...
