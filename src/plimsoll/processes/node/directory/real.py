"""A node's directory on disk, laid out like kubelet's (`decide.node.paths`).

`vol_data.json` is written, and on disk, before a driver is called; a device that is published as
such has its link in the pod's directory instead. So the next process finds what to undo after
a crash. Nothing is ever removed through a mount: contents are deleted only below directories that
this node fills itself, and only while the kernel reports no mount there; everything else must be
empty.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, ParamSpec, TypeVar

import msgspec

from plimsoll.decide.csi.devices import Device
from plimsoll.decide.node.actual import PERSISTENT, Actual, PublishedPlace, PublishedVolume, Staged
from plimsoll.decide.node.paths import (
    CSI_DIRECTORY,
    DATA_FILE,
    DEVICES,
    PUBLISH,
    STAGING,
    NodeLayout,
)
from plimsoll.decide.node.wanted import OwnVolume
from plimsoll.processes.node.directory.ownership import give_files
from plimsoll.processes.node.directory.protocol import DirectoryError, FileGroup
from plimsoll.runtime.files.durable_files import sync_directory, write_file
from plimsoll.runtime.files.mountinfo import mounts_below, read_mount_points
from plimsoll.runtime.files.trees import remove_tree

log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

DIRECTORY_MODE = 0o750
OPEN_TO_ALL = 0o777
OWN_PREFIX = "kubernetes.io~"


class VolumeData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """vol_data.json, with kubelet's names."""

    driver: str = msgspec.field(default="", name="driverName")
    handle: str = msgspec.field(default="", name="volumeHandle")
    name: str = msgspec.field(default="", name="specVolID")
    node: str = msgspec.field(default="", name="nodeName")
    attachment: str = msgspec.field(default="", name="attachmentID")
    lifecycle: str = msgspec.field(default="", name="volumeLifecycleMode")

    @property
    def device(self) -> Device:
        return Device(self.driver, self.handle)


class RealDirectory:
    """Implements Directory."""

    def __init__(self, root: Path, node: str) -> None:
        self.layout = NodeLayout(PurePosixPath(root.absolute()))
        self._node = node
        self.actual = Actual()
        self.prepared: frozenset[PublishedPlace] = frozenset()
        self._pods: frozenset[str] = frozenset()

    @property
    def pods(self) -> frozenset[str]:
        return self._pods | self.actual.pods

    # The beginning

    async def recall(self, running: Collection[str]) -> None:
        await _in_thread(self._recall, frozenset(running))

    def _recall(self, running: frozenset[str]) -> None:
        for path in (self.layout.pods, self.layout.plugins):
            Path(path).mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        # The kernel speaks of paths without links.
        self.layout = NodeLayout(PurePosixPath(Path(self.layout.root).resolve()))
        points = read_mount_points()
        published = {entry.place: entry for entry in self._found_published()}
        for place, entry in published.items():
            is_mounted = self.layout.target_path(entry) in points
            published[place] = replace(entry, sure=is_mounted and place.pod in running)
        staged = {entry.device: entry for entry in self._found_staged()}
        kept = {entry.device for entry in published.values() if entry.sure}
        for device, found in staged.items():
            is_mounted = self.layout.staging_path(found) in points
            staged[device] = replace(found, sure=is_mounted and device in kept)
        self.actual = Actual(staged=staged, published=published)
        self.prepared = frozenset(self._found_prepared())
        self._pods = frozenset(_names(Path(self.layout.pods)))

    def _found_published(self) -> Iterator[PublishedVolume]:
        for uid in _names(Path(self.layout.pods)):
            pod = Path(self.layout.pod(uid))
            for name in _names(pod / "volumes" / CSI_DIRECTORY):
                place = PublishedPlace(uid, name)
                data = _read(Path(self.layout.volume(place)))
                if data is not None:
                    lifecycle = data.lifecycle or PERSISTENT
                    yield PublishedVolume(place=place, device=data.device, lifecycle=lifecycle)
            for name in _names(pod / DEVICES / CSI_DIRECTORY):
                data = _read(Path(self.layout.device_data(name)))
                if data is not None:
                    yield PublishedVolume(
                        place=PublishedPlace(uid, name), device=data.device, is_block=True
                    )

    def _found_staged(self) -> Iterator[Staged]:
        plugins = Path(self.layout.plugins)
        for driver in _names(plugins):
            if driver == DEVICES:
                continue
            for digest in _names(plugins / driver):
                data = _read(plugins / driver / digest)
                if data is not None:
                    yield Staged(device=data.device, name=data.name)
        for name in _names(plugins / DEVICES / STAGING):
            data = _read(Path(self.layout.device_data(name)))
            if data is not None:
                yield Staged(device=data.device, name=name, is_block=True)

    def _found_prepared(self) -> Iterator[PublishedPlace]:
        for uid in _names(Path(self.layout.pods)):
            volumes = Path(self.layout.pod(uid)) / "volumes"
            for plugin in _names(volumes):
                if plugin != CSI_DIRECTORY:
                    yield from (PublishedPlace(uid, name) for name in _names(volumes / plugin))

    # Staging

    async def begin_stage(self, entry: Staged) -> None:
        self.actual = self.actual.with_staged(entry, sure=False)
        await _in_thread(self._write_staged, entry)

    def _write_staged(self, entry: Staged) -> None:
        data = VolumeData(driver=entry.device.driver, handle=entry.device.handle, name=entry.name)
        _write(Path(self._staged_data(entry)), data)
        _make(Path(self.layout.staging_path(entry)))

    def _staged_data(self, entry: Staged) -> PurePosixPath:
        if entry.is_block:
            return self.layout.device_data(entry.name)
        return self.layout.global_directory(entry.device)

    async def end_stage(self, entry: Staged) -> None:
        self.actual = self.actual.with_staged(entry, sure=True)

    async def drop_stage(self, entry: Staged) -> None:
        await _in_thread(self._remove_staged, entry)
        self.actual = self.actual.without_staged(entry)

    def _remove_staged(self, entry: Staged) -> None:
        _remove_target(Path(self.layout.staging_path(entry)))
        if entry.is_block:
            self._remove_device_data(entry.name)
            return
        directory = Path(self.layout.global_directory(entry.device))
        (directory / DATA_FILE).unlink(missing_ok=True)
        _remove_empty(directory)

    # Publishing

    async def begin_publish(self, entry: PublishedVolume) -> None:
        self.actual = self.actual.with_published(entry, sure=False)
        await _in_thread(self._write_published, entry)

    def _write_published(self, entry: PublishedVolume) -> None:
        data = VolumeData(
            driver=entry.device.driver,
            handle=entry.device.handle,
            name=entry.place.name,
            node=self._node,
            attachment=entry.device.attachment_name(self._node),
            lifecycle=entry.lifecycle,
        )
        if not entry.is_block:
            # The driver makes the directory `mount` itself.
            _write(Path(self.layout.volume(entry.place)), data)
            return
        _write(Path(self.layout.device_data(entry.place.name)), data)
        link = Path(self.layout.device_link(entry.place))
        target = Path(self.layout.device_file(entry.place))
        _make(link.parent)
        _make(target.parent)
        if not link.is_symlink():
            link.symlink_to(target)
            sync_directory(link.parent)

    async def end_publish(self, entry: PublishedVolume) -> None:
        self.actual = self.actual.with_published(entry, sure=True)

    async def drop_publish(self, entry: PublishedVolume) -> None:
        await _in_thread(self._remove_published, entry)
        self.actual = self.actual.without_published(entry)

    def _remove_published(self, entry: PublishedVolume) -> None:
        target = Path(self.layout.target_path(entry))
        _remove_target(target)
        if not entry.is_block:
            directory = Path(self.layout.volume(entry.place))
            (directory / DATA_FILE).unlink(missing_ok=True)
            _remove_empty(directory)
            return
        _remove_empty(target.parent)
        Path(self.layout.device_link(entry.place)).unlink(missing_ok=True)
        self._remove_device_data(entry.place.name)

    def _remove_device_data(self, name: str) -> None:
        """Shared by staging and publishing: it goes with the last of them."""
        devices = Path(self.layout.plugins) / DEVICES
        if (devices / STAGING / name).exists() or (devices / PUBLISH / name).exists():
            return
        data = Path(self.layout.device_data(name))
        (data / DATA_FILE).unlink(missing_ok=True)
        _remove_empty(data)
        _remove_empty(data.parent)

    async def give(self, entry: PublishedVolume, group: FileGroup) -> None:
        await _in_thread(_give, Path(self.layout.target_path(entry)), group)

    # Volumes without a driver

    async def prepare(
        self, volume: OwnVolume, place: PublishedPlace, group: FileGroup | None
    ) -> None:
        path = Path(self.layout.own_volume(place, volume.plugin))
        self._pods |= {place.pod}
        await _in_thread(_prepare, volume, path, group)
        self.prepared |= {place}

    async def clean(self, uid: str) -> None:
        await _in_thread(self._clean, uid)
        self.prepared = frozenset(place for place in self.prepared if place.pod != uid)
        self._pods -= {uid}

    def _clean(self, uid: str) -> None:
        pod = Path(self.layout.pod(uid))
        if not pod.exists():
            return
        mounted = mounts_below(pod, read_mount_points())
        if mounted:
            raise DirectoryError(f"something is still mounted: {', '.join(mounted)}")
        volumes = pod / "volumes"
        for plugin in _names(volumes):
            if plugin.startswith(OWN_PREFIX) and plugin != CSI_DIRECTORY:
                remove_tree(volumes / plugin)
        _remove_empty_tree(pod)


async def _in_thread(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """A mount whose server is gone can hang the thread that touches it, but not the event loop."""
    try:
        return await asyncio.to_thread(work, *args, **kwargs)
    except OSError as error:
        name = error.filename or ""
        raise DirectoryError(f"{name}: {error.strerror or error}") from error


def _give(target: Path, group: FileGroup) -> None:
    # Drivers that cannot mount publish by a link.
    give_files(target.resolve(), group)


def _prepare(volume: OwnVolume, path: Path, group: FileGroup | None) -> None:
    _make(path.parent)
    if not volume.path:
        path.mkdir(exist_ok=True)
        path.chmod(OPEN_TO_ALL)
        if group is not None:
            give_files(path, group)
        return
    if volume.must_exist and not Path(volume.path).exists():
        raise DirectoryError(f'path "{volume.path}" does not exist')
    if not path.is_symlink():
        path.symlink_to(volume.path)


# Files


def _names(directory: Path) -> list[str]:
    try:
        return sorted(path.name for path in directory.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _make(directory: Path) -> None:
    directory.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)


def _read(directory: Path) -> VolumeData | None:
    try:
        raw: Any = (directory / DATA_FILE).read_bytes()
        data = msgspec.json.decode(raw, type=VolumeData)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except msgspec.DecodeError as error:
        facts = {"path": str(directory / DATA_FILE), "error": str(error)}
        log.error("volume data unreadable", extra=facts)  # noqa: TRY400 - the text says it all
        return None
    return data if data.driver and data.handle else None


def _write(directory: Path, data: VolumeData) -> None:
    """Whole or not at all, and on disk when it returns."""
    _make(directory)
    write_file(directory / DATA_FILE, msgspec.json.encode(data))


def _remove_target(path: Path) -> None:
    """What a driver may have left of its path. What is mounted, or has content, stays."""
    if str(path) in read_mount_points():
        raise DirectoryError(f"{path} is still mounted, although the driver has undone it")
    with contextlib.suppress(FileNotFoundError):
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()


def _remove_empty(directory: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        for name in _names(directory):
            if name == f"{DATA_FILE}.new":
                (directory / name).unlink()
        with contextlib.suppress(OSError):
            directory.rmdir()


def _remove_empty_tree(directory: Path) -> None:
    """Empty directories from the bottom up; anything else stays and is an error."""
    for name in _names(directory):
        path = directory / name
        if path.is_dir() and not path.is_symlink():
            _remove_empty_tree(path)
        elif name == f"{DATA_FILE}.new":
            path.unlink()
    directory.rmdir()
