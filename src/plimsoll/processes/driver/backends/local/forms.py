"""The parameters of a class, read: what a volume is made of, and what it costs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from plimsoll.processes.driver.backends.counts import parse_count
from plimsoll.processes.driver.backends.protocol import BackendRequest, VolumeLayout
from plimsoll.processes.driver.mount_options import BIND
from plimsoll.processes.driver.node.filesystems import BTRFS, EXT4, MEBIBYTE, MINIMUM_BYTES
from plimsoll.processes.driver.records import VolumeMode
from plimsoll.wire.csi.refusals import invalid_argument

BLOCK_BYTES = 4096
KNOWN = ("type", "medium", "layout", "stripes", "fsType")
COPIES = 2
MOST_STRIPES = 128
"""More disks than any node has; a class that asks for more is a mistake."""


class LocalType(StrEnum):
    DIRECTORY = "directory"
    """Its size is counted, not enforced: a pod can write more than was promised."""
    IMAGE = "image"
    """A file of the full size that looks like a disk."""


class Medium(StrEnum):
    DISK = "disk"
    MEMORY = "memory"


class LocalArrangement(StrEnum):
    LINEAR = "linear"
    STRIPED = "striped"
    MIRRORED = "mirrored"


FORMAT_OPTIONS = {
    LocalArrangement.LINEAR: (),
    # The loss of a disk loses a striped volume in any case; two copies of what tells where things
    # are cost little and outlast a bad block.
    LocalArrangement.STRIPED: ("--data", "raid0", "--metadata", "raid1"),
    LocalArrangement.MIRRORED: ("--data", "raid1", "--metadata", "raid1"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalForm:
    type: LocalType
    medium: Medium
    arrangement: LocalArrangement
    stripes: int
    fs_type: str
    """Empty for what has no file system of its own."""

    @property
    def shares(self) -> int:
        match self.arrangement:
            case LocalArrangement.LINEAR:
                return 1
            case LocalArrangement.STRIPED:
                return self.stripes
            case LocalArrangement.MIRRORED:
                return COPIES


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What is meant where a class says nothing, and what is possible at all."""

    privileged: bool
    stripes: int

    @property
    def type(self) -> LocalType:
        return LocalType.IMAGE if self.privileged else LocalType.DIRECTORY


def parse_form(request: BackendRequest, defaults: Defaults) -> LocalForm:
    """Raises CsiStatusError (INVALID_ARGUMENT) for what cannot be had here."""
    form = read_form(request, defaults.type, defaults.stripes)
    for problem in _problems(form, request, defaults):
        raise invalid_argument(f"parameters: {problem}")
    return form


def read_form(request: BackendRequest, usual_type: LocalType, usual_stripes: int) -> LocalForm:
    """Raises CsiStatusError (INVALID_ARGUMENT) for what means nothing."""
    given = request.parameters
    if unknown := sorted(given.keys() - set(KNOWN)):
        raise invalid_argument(
            f"parameters: unknown {', '.join(unknown)}; known are {', '.join(KNOWN)}"
        )
    medium = _one_of(Medium, given, "medium", Medium.DISK)
    usual = LocalType.DIRECTORY if medium is Medium.MEMORY else usual_type
    form = LocalForm(
        type=_one_of(LocalType, given, "type", usual),
        medium=medium,
        arrangement=_one_of(LocalArrangement, given, "layout", LocalArrangement.LINEAR),
        stripes=_stripes(given, usual_stripes),
        fs_type="",
    )
    return form if form.type is LocalType.DIRECTORY else _with_file_system(form, request)


Choice = TypeVar("Choice", bound=StrEnum)


def _one_of(choices: type[Choice], given: Mapping[str, str], key: str, usual: Choice) -> Choice:
    try:
        return choices(given[key]) if key in given else usual
    except ValueError as error:
        known = ", ".join(choices)
        raise invalid_argument(
            f"parameters: {key}: {given[key]!r} is unknown; known are {known}"
        ) from error


def _stripes(given: Mapping[str, str], usual: int) -> int:
    if "stripes" not in given:
        return usual
    return parse_count(given, "stripes", least=COPIES, most=MOST_STRIPES)


def _problems(form: LocalForm, request: BackendRequest, defaults: Defaults) -> list[str]:
    of_memory = form.medium is Medium.MEMORY
    of_image = form.type is LocalType.IMAGE
    several = form.arrangement is not LocalArrangement.LINEAR
    block = request.mode is VolumeMode.BLOCK
    fs_type = _wanted_file_system(request)
    checks = {
        "medium: memory needs root": of_memory and not defaults.privileged,
        "type: image needs root; use type: directory": of_image and not defaults.privileged,
        "medium: memory has no type: image": of_memory and of_image,
        f"layout: {form.arrangement} needs type: image": several and not of_image,
        "a block volume needs type: image": block and not of_image,
        f"layout: {form.arrangement} makes no block volumes: that needs device-mapper, use the"
        " backend lvm": block and several,
        f"file system {fs_type} is wanted, and type: directory has none of its own; leave it out,"
        " or use type: image": bool(fs_type) and not of_image,
        "stripes: is for layout: striped": "stripes" in request.parameters
        and form.arrangement is not LocalArrangement.STRIPED,
    }
    return [text for text, applies in checks.items() if applies]


def _wanted_file_system(request: BackendRequest) -> str:
    """The request's, or else the class's own; empty: any will do."""
    of_class = request.parameters.get("fsType", "")
    if of_class and request.fs_type not in ("", of_class):
        raise invalid_argument(
            f"parameters: fsType: the class says {of_class}, the request {request.fs_type}"
        )
    return request.fs_type or of_class


def _with_file_system(form: LocalForm, request: BackendRequest) -> LocalForm:
    several = form.arrangement is not LocalArrangement.LINEAR
    fs_type = _wanted_file_system(request) or (BTRFS if several else EXT4)
    if request.mode is VolumeMode.BLOCK:
        fs_type = ""
    elif fs_type not in MINIMUM_BYTES:
        known = ", ".join(MINIMUM_BYTES)
        raise invalid_argument(f"file system {fs_type!r} is unknown; known are {known}")
    elif several and fs_type != BTRFS:
        raise invalid_argument(
            f"layout: {form.arrangement} is done by btrfs; {fs_type} is wanted, leave it out"
        )
    return LocalForm(
        type=form.type,
        medium=form.medium,
        arrangement=form.arrangement,
        stripes=form.stripes,
        fs_type=fs_type,
    )


def layout_of(form: LocalForm, pools: frozenset[str]) -> VolumeLayout:
    mounted_as = BIND if form.type is LocalType.DIRECTORY else form.fs_type
    return replace(_cost(form, pools), mounted_as=mounted_as)


def _cost(form: LocalForm, pools: frozenset[str]) -> VolumeLayout:
    minimum = MINIMUM_BYTES.get(form.fs_type, BLOCK_BYTES)
    match form.arrangement:
        case LocalArrangement.LINEAR:
            return VolumeLayout(unit_bytes=BLOCK_BYTES, minimum_bytes=minimum, pools=pools)
        case LocalArrangement.STRIPED:
            return VolumeLayout(
                shares=form.stripes,
                unit_bytes=form.stripes * MEBIBYTE,
                minimum_bytes=form.stripes * minimum,
                pools=pools,
            )
        case LocalArrangement.MIRRORED:
            return VolumeLayout(
                copies=COPIES,
                shares=COPIES,
                unit_bytes=MEBIBYTE,
                minimum_bytes=minimum,
                pools=pools,
            )
