"""A node's directory on disk, laid out like kubelet's (`decide.node.paths`).

`vol_data.json` is written, and on disk, before a driver is called; a device that is published as
such has its link in the pod's directory instead. So the next process finds what to undo after
a crash. Nothing is ever removed through a mount: contents are deleted only below directories that
this node fills itself, and only while the kernel reports no mount there; everything else must be
empty.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path, PurePosixPath
from typing import ParamSpec, TypeVar

from plimsoll.decide.node.actual_state import (
    ActualState,
    PublishedPlace,
    PublishedVolume,
    StagedVolume,
)
from plimsoll.decide.node.desired_volumes import OwnVolume
from plimsoll.decide.node.paths import (
    CSI_DIRECTORY,
    DATA_FILE,
    DEVICES,
    PUBLISH,
    STAGING,
    NodeLayout,
)
from plimsoll.processes.node.directory.ownership import give_files
from plimsoll.processes.node.directory.protocol import DirectoryError, FileGroup
from plimsoll.processes.node.directory.recorded import (
    found_prepared,
    found_published,
    found_staged,
)
from plimsoll.processes.node.directory.removal import (
    remove_empty,
    remove_empty_tree,
    remove_target,
)
from plimsoll.processes.node.directory.volume_data import (
    VolumeData,
    make_directory,
    names,
    write_data,
)
from plimsoll.runtime.deadlines import in_thread_within
from plimsoll.runtime.files.durable_files import sync_directory
from plimsoll.runtime.files.mountinfo import mounts_below, read_mount_points
from plimsoll.runtime.files.trees import remove_tree

P = ParamSpec("P")
R = TypeVar("R")

OPEN_TO_ALL = 0o777
WITHIN = timedelta(minutes=10)
"""The files of a large volume may take so long to be given to a group."""
OWN_PREFIX = "kubernetes.io~"


class RealDirectory:
    """Implements Directory."""

    def __init__(self, root: Path, node: str) -> None:
        self.layout = NodeLayout(PurePosixPath(root.absolute()))
        self._node = node
        self.actual = ActualState()
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
            make_directory(Path(path))
        # The kernel speaks of paths without links.
        self.layout = NodeLayout(PurePosixPath(Path(self.layout.root).resolve()))
        points = read_mount_points()
        published = {entry.place: entry for entry in found_published(self.layout)}
        for place, entry in published.items():
            is_mounted = self.layout.target_path(entry) in points
            published[place] = replace(entry, sure=is_mounted and place.pod in running)
        staged = {entry.device: entry for entry in found_staged(self.layout)}
        kept = {entry.device for entry in published.values() if entry.sure}
        for device, found in staged.items():
            is_mounted = self.layout.staging_path(found) in points
            staged[device] = replace(found, sure=is_mounted and device in kept)
        self.actual = ActualState(staged=staged, published=published)
        self.prepared = frozenset(found_prepared(self.layout))
        self._pods = frozenset(names(Path(self.layout.pods)))

    # Staging

    async def begin_stage(self, entry: StagedVolume) -> None:
        self.actual = self.actual.with_staged(entry, sure=False)
        await _in_thread(self._write_staged, entry)

    def _write_staged(self, entry: StagedVolume) -> None:
        data = VolumeData(driver=entry.device.driver, handle=entry.device.handle, name=entry.name)
        write_data(Path(self._staged_data(entry)), data)
        make_directory(Path(self.layout.staging_path(entry)))

    def _staged_data(self, entry: StagedVolume) -> PurePosixPath:
        if entry.is_block:
            return self.layout.device_data(entry.name)
        return self.layout.global_directory(entry.device)

    async def end_stage(self, entry: StagedVolume) -> None:
        self.actual = self.actual.with_staged(entry, sure=True)

    async def drop_stage(self, entry: StagedVolume) -> None:
        await _in_thread(self._remove_staged, entry)
        self.actual = self.actual.without_staged(entry)

    def _remove_staged(self, entry: StagedVolume) -> None:
        remove_target(Path(self.layout.staging_path(entry)))
        if entry.is_block:
            self._remove_device_data(entry.name)
            return
        directory = Path(self.layout.global_directory(entry.device))
        (directory / DATA_FILE).unlink(missing_ok=True)
        remove_empty(directory)

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
            write_data(Path(self.layout.volume(entry.place)), data)
            return
        write_data(Path(self.layout.device_data(entry.place.name)), data)
        link = Path(self.layout.device_link(entry.place))
        target = Path(self.layout.device_file(entry.place))
        make_directory(link.parent)
        make_directory(target.parent)
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
        remove_target(target)
        if not entry.is_block:
            directory = Path(self.layout.volume(entry.place))
            (directory / DATA_FILE).unlink(missing_ok=True)
            remove_empty(directory)
            return
        remove_empty(target.parent)
        Path(self.layout.device_link(entry.place)).unlink(missing_ok=True)
        self._remove_device_data(entry.place.name)

    def _remove_device_data(self, name: str) -> None:
        """Shared by staging and publishing: it goes with the last of them."""
        devices = Path(self.layout.plugins) / DEVICES
        if (devices / STAGING / name).exists() or (devices / PUBLISH / name).exists():
            return
        data = Path(self.layout.device_data(name))
        (data / DATA_FILE).unlink(missing_ok=True)
        remove_empty(data)
        remove_empty(data.parent)

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
        for plugin in names(volumes):
            if plugin.startswith(OWN_PREFIX) and plugin != CSI_DIRECTORY:
                remove_tree(volumes / plugin)
        remove_empty_tree(pod)


async def _in_thread(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """A mount whose server is gone can hang the thread that touches it, but neither the event loop,
    nor the end of the process, nor the pod for ever."""
    try:
        return await in_thread_within(WITHIN, partial(work, *args, **kwargs), Exception)
    except TimeoutError as error:
        raise DirectoryError("a mounted volume does not answer; look at its storage") from error
    except OSError as error:
        name = error.filename or ""
        raise DirectoryError(f"{name}: {error.strerror or error}") from error


def _give(target: Path, group: FileGroup) -> None:
    # Drivers that cannot mount publish by a link.
    give_files(target.resolve(), group)


def _prepare(volume: OwnVolume, path: Path, group: FileGroup | None) -> None:
    make_directory(path.parent)
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
