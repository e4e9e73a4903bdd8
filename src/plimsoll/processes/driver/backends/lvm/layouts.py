"""The parameters of a class, and what they cost in a volume group."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from plimsoll.processes.driver.backends.counts import parse_count
from plimsoll.processes.driver.backends.protocol import VolumeLayout
from plimsoll.processes.driver.node.filesystems import EXT4, MINIMUM_BYTES
from plimsoll.wire.csi.refusals import invalid_argument

LAYOUT = "layout"
STRIPES = "stripes"
DEFAULT_FS_TYPE = EXT4
MOST_STRIPES = 128
"""lvm2 takes no more."""


class LvmArrangement(StrEnum):
    """How the bytes of a volume lie on the physical volumes."""

    LINEAR = "linear"
    """One after the other, wherever there are free extents."""
    STRIPED = "striped"
    """In turn over several of them."""
    MIRRORED = "mirrored"
    """Twice, on two of them (raid1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LvmShape:
    arrangement: LvmArrangement
    stripes: int = 1


def parse_shape(parameters: Mapping[str, str], *, devices: int) -> LvmShape:
    """Refuses what is not known: a misspelt parameter must not silently make another volume.

    `devices`: physical volumes in the group, over which a volume is striped unless told otherwise.
    """
    unknown = sorted(parameters.keys() - {LAYOUT, STRIPES})
    if unknown:
        raise invalid_argument(
            f"parameters {', '.join(unknown)} are not known; there are {LAYOUT} and {STRIPES}"
        )
    arrangement = _arrangement(parameters.get(LAYOUT, LvmArrangement.LINEAR))
    if arrangement is LvmArrangement.STRIPED:
        return LvmShape(arrangement=arrangement, stripes=_stripes(parameters, devices))
    if STRIPES in parameters:
        raise invalid_argument(f"{STRIPES} needs {LAYOUT}: {LvmArrangement.STRIPED}")
    return LvmShape(arrangement=arrangement)


def _arrangement(text: str) -> LvmArrangement:
    try:
        return LvmArrangement(text)
    except ValueError as error:
        known = ", ".join(LvmArrangement)
        raise invalid_argument(f"{LAYOUT}: {text!r} is none of {known}") from error


def _stripes(parameters: Mapping[str, str], devices: int) -> int:
    if STRIPES not in parameters:
        return min(devices, MOST_STRIPES)
    return parse_count(parameters, STRIPES, least=1, most=MOST_STRIPES)


def smallest_file_system(fs_type: str) -> int:
    """Bytes that it needs; empty: the usual one. Refuses what cannot be made."""
    wanted = fs_type or DEFAULT_FS_TYPE
    if wanted not in MINIMUM_BYTES:
        known = ", ".join(sorted(MINIMUM_BYTES))
        raise invalid_argument(f"file system {fs_type!r} is none of {known}")
    return MINIMUM_BYTES[wanted]


def layout_of(shape: LvmShape, *, extent_bytes: int, at_least: int = 0) -> VolumeLayout:
    match shape.arrangement:
        case LvmArrangement.LINEAR:
            return VolumeLayout(
                shares=0, unit_bytes=extent_bytes, minimum_bytes=max(extent_bytes, at_least)
            )
        case LvmArrangement.STRIPED:
            # Every stripe is as long as the others, in whole extents.
            row = shape.stripes * extent_bytes
            return VolumeLayout(
                shares=shape.stripes, unit_bytes=row, minimum_bytes=max(row, at_least)
            )
        case LvmArrangement.MIRRORED:
            # lvm2 keeps its notes on each copy in an extent beside it.
            return VolumeLayout(
                copies=2,
                shares=2,
                unit_bytes=extent_bytes,
                overhead_bytes=2 * extent_bytes,
                minimum_bytes=max(extent_bytes, at_least),
            )
