"""The interface between what a node does and the directory in which it does it.

The directory is all that a node remembers: what it begins is written down there first, what it has
undone is taken away last. `RealDirectory` is one on disk, with real mounts; `NoDirectory` is for
hollow nodes, which are many and mount nothing.
"""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from plimsoll.decide.node.actual_state import (
    ActualState,
    PublishedPlace,
    PublishedVolume,
    StagedVolume,
)
from plimsoll.decide.node.desired_volumes import OwnVolume
from plimsoll.decide.node.paths import NodeLayout


class DirectoryError(Exception):
    """The directory is not as it should be; the text is for the pod's user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileGroup:
    """The group that the files of a volume are given to."""

    id: int
    only_roots: bool = False
    """Leave the files alone if the volume's root is as it should be."""


class Directory(Protocol):
    @property
    def layout(self) -> NodeLayout: ...

    @property
    def actual(self) -> ActualState:
        """Everything that drivers may have done here."""
        ...

    @property
    def prepared(self) -> frozenset[PublishedPlace]:
        """Volumes without a driver that are in place."""
        ...

    @property
    def pods(self) -> frozenset[str]:
        """The uids of pods that something is kept for."""
        ...

    async def recall(self, running: Collection[str]) -> None:
        """Once, in the beginning: find what an earlier process left.

        `running` are the uids of pods that were reported as running: what is mounted for them was
        carried out to the end. Raises DirectoryError when the directory cannot be used.
        """
        ...

    async def begin_stage(self, entry: StagedVolume) -> None: ...

    async def end_stage(self, entry: StagedVolume) -> None:
        """The driver has carried it out."""
        ...

    async def drop_stage(self, entry: StagedVolume) -> None:
        """The driver has undone it. Raises DirectoryError if the kernel says otherwise."""
        ...

    async def begin_publish(self, entry: PublishedVolume) -> None: ...

    async def end_publish(self, entry: PublishedVolume) -> None: ...

    async def drop_publish(self, entry: PublishedVolume) -> None: ...

    async def give(self, entry: PublishedVolume, group: FileGroup) -> None:
        """Give the files of a published volume to a group."""
        ...

    async def prepare(
        self, volume: OwnVolume, place: PublishedPlace, group: FileGroup | None
    ) -> None:
        """Put a volume without a driver in place."""
        ...

    async def clean(self, uid: str) -> None:
        """Take away what is left of a pod for which no driver has anything to do any more."""
        ...


class NoDirectory:
    """Implements Directory, in memory. After a restart everything is asked for again."""

    def __init__(self, node: str) -> None:
        self.layout = NodeLayout(PurePosixPath("/hollow") / node)
        self.actual = ActualState()
        self.prepared: frozenset[PublishedPlace] = frozenset()

    @property
    def pods(self) -> frozenset[str]:
        return self.actual.pods | frozenset(place.pod for place in self.prepared)

    async def recall(self, running: Collection[str]) -> None:
        """There is nothing to be found."""

    async def begin_stage(self, entry: StagedVolume) -> None:
        self.actual = self.actual.with_staged(entry, sure=False)

    async def end_stage(self, entry: StagedVolume) -> None:
        self.actual = self.actual.with_staged(entry, sure=True)

    async def drop_stage(self, entry: StagedVolume) -> None:
        self.actual = self.actual.without_staged(entry)

    async def begin_publish(self, entry: PublishedVolume) -> None:
        self.actual = self.actual.with_published(entry, sure=False)

    async def end_publish(self, entry: PublishedVolume) -> None:
        self.actual = self.actual.with_published(entry, sure=True)

    async def drop_publish(self, entry: PublishedVolume) -> None:
        self.actual = self.actual.without_published(entry)

    async def give(self, entry: PublishedVolume, group: FileGroup) -> None:
        """There are no files."""

    async def prepare(
        self,
        volume: OwnVolume,  # noqa: ARG002 - there is nothing to be made
        place: PublishedPlace,
        group: FileGroup | None,  # noqa: ARG002 - same
    ) -> None:
        self.prepared |= {place}

    async def clean(self, uid: str) -> None:
        self.prepared = frozenset(place for place in self.prepared if place.pod != uid)
