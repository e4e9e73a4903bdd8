"""Reads and writes of one object, put together and then carried out as a whole.

librados copies keys and values when it is told them. It writes answers to places that are ours, so
those live as long as the operation does.
"""

from collections.abc import Iterator, Sequence
from ctypes import byref, c_int, c_size_t, c_ubyte, c_void_p

from plimsoll.wire.ceph.ctypes_bindings.librados import LIBRADOS
from plimsoll.wire.ceph.ctypes_bindings.shared_library import Releasable, copied, texts


class OmapAnswer:
    """Keys and values that a read gives. Where it failed there are none to be had."""

    def __init__(self) -> None:
        self.handle = c_void_p()
        self.has_more = c_ubyte()
        self.code = c_int()

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        key, value, key_size, value_size = c_void_p(), c_void_p(), c_size_t(), c_size_t()
        places = byref(key), byref(value), byref(key_size), byref(value_size)
        while True:
            LIBRADOS.call("rados_omap_get_next2", self.handle, *places)
            if not key.value:
                return
            yield copied(key, key_size).decode(errors="replace"), copied(value, value_size)

    def end(self) -> None:
        LIBRADOS.run("rados_omap_get_end", self.handle)


class ReadOpCtx(Releasable):
    def __init__(self) -> None:
        self.handle = LIBRADOS.made("rados_create_read_op")
        self._answers: list[OmapAnswer] = []

    def release(self) -> None:
        LIBRADOS.run("rados_release_read_op", self.handle)
        for answer in self._answers:
            answer.end()

    def values_of(self, keys: Sequence[str]) -> OmapAnswer:
        answer = self._new_answer()
        names, sizes = texts([key.encode() for key in keys])
        LIBRADOS.run(
            "rados_read_op_omap_get_vals_by_keys2",
            *(self.handle, names, len(keys), sizes, byref(answer.handle), byref(answer.code)),
        )
        return answer

    def values_after(self, after: str, prefix: str, most: int) -> OmapAnswer:
        answer = self._new_answer()
        LIBRADOS.run(
            "rados_read_op_omap_get_vals2",
            *(self.handle, after.encode(), prefix.encode(), most),
            *(byref(answer.handle), byref(answer.has_more), byref(answer.code)),
        )
        return answer

    def _new_answer(self) -> OmapAnswer:
        answer = OmapAnswer()
        self._answers.append(answer)
        return answer


class WriteOpCtx(Releasable):
    def __init__(self) -> None:
        self.handle = LIBRADOS.made("rados_create_write_op")
        self._codes: list[c_int] = []

    def release(self) -> None:
        LIBRADOS.run("rados_release_write_op", self.handle)

    def new(self, exclusive: int, /) -> None:
        LIBRADOS.run("rados_write_op_create", self.handle, exclusive, None)

    def omap_cmp(self, key: str, value: str, operator: int, /) -> None:
        name, wanted, code = key.encode(), value.encode(), c_int()
        self._codes.append(code)
        LIBRADOS.run(
            "rados_write_op_omap_cmp2",
            *(self.handle, name, operator, wanted, len(name), len(wanted), byref(code)),
        )

    def set_values(self, keys: Sequence[str], values: Sequence[bytes]) -> None:
        names, name_sizes = texts([key.encode() for key in keys])
        contents, content_sizes = texts(values)
        LIBRADOS.run(
            "rados_write_op_omap_set2",
            *(self.handle, names, contents, name_sizes, content_sizes, len(keys)),
        )

    def remove_keys(self, keys: Sequence[str]) -> None:
        names, sizes = texts([key.encode() for key in keys])
        LIBRADOS.run("rados_write_op_omap_rm_keys2", self.handle, names, sizes, len(keys))
