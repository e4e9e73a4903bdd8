"""Protobuf's own grammar: numbered fields of four wire types, nothing about what they mean.

Reading walks a view without copying and raises ValueError at the first byte that makes no sense.
"""

from collections.abc import Iterator
from enum import IntEnum
from itertools import count

MAX_FIELDS = 100_000


class Wire(IntEnum):
    VARINT = 0
    FIXED64 = 1
    BYTES = 2
    GROUP_START = 3
    GROUP_END = 4
    FIXED32 = 5


_VARINT_BITS = 64
_MASK64 = (1 << _VARINT_BITS) - 1
_FIXED_SIZES = {Wire.FIXED64: 8, Wire.FIXED32: 4}

# A field as read: its number, its wire type, and its content: a number for varints, else bytes.
Content = int | memoryview
RawField = tuple[int, Wire, Content]


def raw_fields(data: memoryview) -> Iterator[RawField]:
    """The fields of a message in order; groups, which nothing uses any more, are passed over."""
    position, depth = 0, 0
    for found in count():
        if position >= len(data):
            break
        if found == MAX_FIELDS:
            raise ValueError(f"protobuf: more than {MAX_FIELDS} fields in one message")
        tag, position = read_varint(data, position)
        number, wire = tag >> 3, _wire(tag & 7)
        if not number:
            raise ValueError("protobuf: illegal field number 0")
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


def _wire(number: int) -> Wire:
    try:
        return Wire(number)
    except ValueError:
        raise ValueError(f"protobuf: illegal wire type {number}") from None


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


def varint(number: int) -> bytes:
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
