"""Protobuf's own grammar: numbered fields of four wire types, nothing about what they mean.

Reading walks a view without copying and raises ValueError at the first byte that makes no sense.
"""

from collections.abc import Callable, Iterator
from enum import IntEnum
from itertools import count
from typing import Any

MAX_FIELDS = 100_000


class Wire(IntEnum):
    VARINT = 0
    FIXED64 = 1
    BYTES = 2
    GROUP_START = 3
    GROUP_END = 4
    FIXED32 = 5


_WIRES = (*Wire, None, None)
"""By their number; 6 and 7 are none."""
_VARINT_BITS = 64
_MASK64 = (1 << _VARINT_BITS) - 1
_FIXED_SIZES = {Wire.FIXED64: 8, Wire.FIXED32: 4}

# A field as read: its number, its wire type, and its content: a number for varints, else bytes.
Content = int | memoryview
RawField = tuple[int, Wire, Content]


def raw_fields(data: memoryview) -> Iterator[RawField]:
    """The fields of a message in order; groups, which nothing uses any more, are passed over."""
    position, depth, end = 0, 0, len(data)
    for found in count():
        if position >= end:
            break
        if found == MAX_FIELDS:
            raise ValueError(f"protobuf: more than {MAX_FIELDS} fields in one message")
        tag, position = read_varint(data, position)
        number, wire = tag >> 3, _WIRES[tag & 7]
        if wire is None or not number:
            raise ValueError(f"protobuf: illegal tag {tag}")
        if wire is Wire.GROUP_START:
            depth += 1
        elif wire is Wire.GROUP_END:
            depth -= 1
            if depth < 0:
                raise ValueError("protobuf: end of a group that did not begin")
        else:
            content, position = _read_content(data, position, wire)
            if not depth:
                yield number, wire, content
    if depth:
        raise ValueError("protobuf: unexpected end of data")


def _read_content(data: memoryview, position: int, wire: Wire) -> tuple[Content, int]:
    if wire is Wire.VARINT:
        return read_varint(data, position)
    if wire is Wire.BYTES:
        size, position = read_varint(data, position)
    else:
        size = _FIXED_SIZES[wire]
    end = position + size
    if end > len(data):
        raise ValueError("protobuf: unexpected end of data")
    return data[position:end], end


def read_varint(data: memoryview, position: int) -> tuple[int, int]:
    """An unsigned number of up to 64 bits, and the position behind it."""
    if position < len(data) and (byte := data[position]) < 0x80:  # noqa: PLR2004 - as below
        return byte, position + 1
    number = shift = 0
    while shift < _VARINT_BITS:
        if position >= len(data):
            raise ValueError("protobuf: unexpected end of data")
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the highest bit says that more follows
            return number & _MASK64, position
        shift += 7
    raise ValueError("protobuf: number longer than 64 bits")


def signed(number: int, bits: int) -> int:
    """The lowest bits of a number as two's complement."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


_SMALL = tuple(bytes([number]) for number in range(0x80))


def varint(number: int) -> bytes:
    if 0 <= number < 0x80:  # noqa: PLR2004 - seven bits fit into a byte
        return _SMALL[number]
    number &= _MASK64
    written = bytearray()
    while number > 0x7F:  # noqa: PLR2004 - seven bits fit into a byte
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def written_field(number: int, wire: Wire, content: bytes) -> bytes:
    """`content` is a finished varint or fixed number, or the bytes themselves."""
    tag = varint(number << 3 | wire)
    return tag + varint(len(content)) + content if wire is Wire.BYTES else tag + content


def field_writer(number: int, wire: Wire, write: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """What writes values of one field, whose tag never changes."""
    tag = varint(number << 3 | wire)
    if wire is not Wire.BYTES:
        return lambda value: tag + write(value)

    def delimited(value: Any) -> bytes:
        content = write(value)
        return b"%b%b%b" % (tag, varint(len(content)), content)

    return delimited
