"""Sets of nodes as whole numbers: bit i stands for the node in slot i.

Python's numbers combine such sets faster than arrays do, as long as nothing is counted per node.
"""

import numpy as np
from numpy.typing import NDArray

FEW = 16


def mask_of(bits: int, size: int) -> NDArray[np.bool_]:
    """One boolean for each of `size` slots."""
    raw = np.frombuffer(bits.to_bytes((size + 7) // 8, "little"), np.uint8)
    return np.unpackbits(raw, count=size, bitorder="little").view(np.bool_)


def slots_of(bits: int) -> list[int]:
    """In rising order."""
    if bits.bit_count() > FEW:
        return list(map(int, np.flatnonzero(mask_of(bits, bits.bit_length()))))
    found = []
    while bits:
        slot = bits.bit_length() - 1
        found.append(slot)
        bits ^= 1 << slot
    return found[::-1]


def bits_of(mask: NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")
