"""A volume group as lvm2 reports it, from `lvm fullreport` in JSON.

lvm2 writes every value as a string; here they become numbers, sets and ranges. No other module
knows its field names.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

FIELDS: Mapping[str, tuple[str, ...]] = {
    "vg": (
        "vg_name",
        "vg_extent_size",
        "vg_permissions",
        "vg_exported",
        "vg_missing_pv_count",
        "max_lv",
        "lv_count",
    ),
    "pv": ("pv_uuid", "pv_name", "pv_pe_count", "pv_allocatable", "pv_missing"),
    "lv": (
        "lv_uuid",
        "lv_name",
        "lv_parent",
        "lv_path",
        "lv_size",
        "lv_tags",
        "lv_active",
        "lv_device_open",
        "lv_health_status",
    ),
    "pvseg": ("pv_uuid", "lv_uuid", "pvseg_start", "pvseg_size"),
    # Asked for one field only: a report cannot be left out.
    "seg": ("lv_uuid",),
}
"""What is asked for, by part of the report."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Neighbouring extents of a physical volume."""

    start: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PhysicalVolume:
    uuid: str
    """Stays when the device gets another name."""
    device: str
    extent_count: int
    is_usable: bool
    """It is there, and lvm2 is allowed to allocate from it."""
    free: tuple[Span, ...]

    @property
    def free_count(self) -> int:
        """Extents that a volume can be given."""
        return sum(span.count for span in self.free) if self.is_usable else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogicalVolume:
    name: str
    path: str
    size_bytes: int
    tags: frozenset[str]
    is_active: bool
    is_open: bool
    """Mounted, or held open by a program. Not known without device-mapper, and then not so."""
    health: str
    """Empty: in order."""
    held: Mapping[str, int]
    """Extents by uuid of the physical volume, those of its mirrors and their notes included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedGroup:
    name: str
    extent_bytes: int
    obstacle: str
    """Why lvm2 would refuse to change anything in it; empty: it would not."""
    physical_volumes: tuple[PhysicalVolume, ...]
    """Sorted by device."""
    volumes: Mapping[str, LogicalVolume]
    """Those that are not parts of others, by name: those of other programs too."""


class _Group(msgspec.Struct, frozen=True):
    vg_name: str
    vg_extent_size: str
    vg_permissions: str
    vg_exported: str
    vg_missing_pv_count: str
    max_lv: str
    lv_count: str


class _PhysicalVolume(msgspec.Struct, frozen=True):
    pv_uuid: str
    pv_name: str
    pv_pe_count: str
    pv_allocatable: str
    pv_missing: str


class _LogicalVolume(msgspec.Struct, frozen=True):
    lv_uuid: str
    lv_name: str
    lv_parent: str
    lv_path: str
    lv_size: str
    lv_tags: str
    lv_active: str
    lv_device_open: str
    lv_health_status: str


class _Segment(msgspec.Struct, frozen=True):
    pv_uuid: str
    lv_uuid: str
    pvseg_start: str
    pvseg_size: str


class _GroupReport(msgspec.Struct, frozen=True):
    vg: tuple[_Group, ...]
    pv: tuple[_PhysicalVolume, ...]
    lv: tuple[_LogicalVolume, ...]
    pvseg: tuple[_Segment, ...]


class _FullReport(msgspec.Struct, frozen=True):
    report: tuple[_GroupReport, ...]


def parse_group(text: str, name: str) -> ReportedGroup:
    """Raises ValueError unless the text is a report on that group, with sizes in bytes."""
    for report in msgspec.json.decode(text, type=_FullReport).report:
        for group in report.vg:
            if group.vg_name == name:
                return _group(group, report)
    raise ValueError(f'lvm2 reports nothing on volume group "{name}"')


def _group(group: _Group, report: _GroupReport) -> ReportedGroup:
    return ReportedGroup(
        name=group.vg_name,
        extent_bytes=int(group.vg_extent_size),
        obstacle=_obstacle(group),
        physical_volumes=tuple(
            sorted(
                (_physical_volume(each, report) for each in report.pv),
                key=lambda volume: volume.device,
            )
        ),
        volumes=_volumes(report),
    )


def _obstacle(group: _Group) -> str:
    if group.vg_exported:
        return "it is exported"
    if group.vg_permissions != "writeable":
        return "it is read-only"
    if int(group.vg_missing_pv_count):
        return f"{group.vg_missing_pv_count} of its physical volumes are missing"
    if 0 < int(group.max_lv) <= int(group.lv_count):
        return f"it may hold no more than {group.max_lv} logical volumes"
    return ""


def _physical_volume(volume: _PhysicalVolume, report: _GroupReport) -> PhysicalVolume:
    free = [
        Span(int(segment.pvseg_start), int(segment.pvseg_size))
        for segment in report.pvseg
        if segment.pv_uuid == volume.pv_uuid and not segment.lv_uuid
    ]
    return PhysicalVolume(
        uuid=volume.pv_uuid,
        device=volume.pv_name,
        extent_count=int(volume.pv_pe_count),
        is_usable=bool(volume.pv_allocatable) and not volume.pv_missing,
        free=tuple(sorted(span for span in free if span.count > 0)),
    )


def _volumes(report: _GroupReport) -> dict[str, LogicalVolume]:
    parents = {_plain(each.lv_name): each.lv_parent for each in report.lv}
    roots = {each.lv_uuid: _root(_plain(each.lv_name), parents) for each in report.lv}
    held: dict[str, dict[str, int]] = {}
    for segment in report.pvseg:
        if segment.lv_uuid:
            by_device = held.setdefault(roots[segment.lv_uuid], {})
            by_device.setdefault(segment.pv_uuid, 0)
            by_device[segment.pv_uuid] += int(segment.pvseg_size)
    return {
        each.lv_name: _volume(each, held.get(each.lv_name, {}))
        for each in report.lv
        if not each.lv_parent
    }


def _plain(name: str) -> str:
    """lvm2 puts the names of volumes that are parts of others in brackets."""
    return name.removeprefix("[").removesuffix("]")


def _root(name: str, parents: Mapping[str, str]) -> str:
    while parents.get(name):
        name = parents[name]
    return name


def _volume(volume: _LogicalVolume, held: Mapping[str, int]) -> LogicalVolume:
    return LogicalVolume(
        name=volume.lv_name,
        path=volume.lv_path,
        size_bytes=int(volume.lv_size),
        tags=frozenset(volume.lv_tags.split(",")) - {""},
        is_active=volume.lv_active not in ("", "unknown"),
        is_open=volume.lv_device_open == "open",
        health=volume.lv_health_status,
        held=held,
    )
