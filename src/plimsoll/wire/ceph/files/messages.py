"""What the driver asks of a worker and what that answers: one line of JSON each.

Every request can be repeated: what is done already is no error. The first line is `WorkerAccess`;
it is answered as requests are. This module is loaded by the worker, so it loads little itself.
"""

import msgspec

from plimsoll.wire.ceph.binding_choice import BindingChoice


class WorkerAccess(msgspec.Struct, frozen=True, kw_only=True):
    """The only place where the key goes: never into arguments, and not into the environment."""

    filesystem: str
    monitors: str
    user: str
    key: str
    seconds: int
    """Of one operation of librados, and of connecting."""
    bindings: BindingChoice = BindingChoice.AUTO

    def __repr__(self) -> str:
        return f"WorkerAccess(filesystem={self.filesystem!r}, user={self.user!r})"


class FileRequest(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    path: str
    """From the root of the file system."""


class MakeDirectory(FileRequest, frozen=True, kw_only=True, tag=True):
    """With the directories above it."""

    quota_bytes: int
    pool: str
    """Where the content of its files goes."""


class MakeLink(FileRequest, frozen=True, kw_only=True, tag=True):
    """A symbolic link, with the directories above it."""

    text: str


class ReadLink(FileRequest, frozen=True, kw_only=True, tag=True):
    pass


class RemoveLink(FileRequest, frozen=True, kw_only=True, tag=True):
    pass


class SetQuota(FileRequest, frozen=True, kw_only=True, tag=True):
    quota_bytes: int


class ReadFacts(FileRequest, frozen=True, kw_only=True, tag=True):
    pass


class ListNames(FileRequest, frozen=True, kw_only=True, tag=True):
    """Of a directory; one that is not there has none."""


class MoveDirectory(FileRequest, frozen=True, kw_only=True, tag=True):
    """That it is there already, and no longer here, is no error. Makes the directory above."""

    to: str


class MakeSnapshot(FileRequest, frozen=True, kw_only=True, tag=True):
    name: str


class RemoveSnapshot(FileRequest, frozen=True, kw_only=True, tag=True):
    name: str


class RemoveSome(FileRequest, frozen=True, kw_only=True, tag=True):
    """A part of a tree; in the end the directory itself, unless it has snapshots."""


class CopySome(FileRequest, frozen=True, kw_only=True, tag=True):
    """A part of a tree that does not change meanwhile, into a directory that is there."""

    to: str


Request = (
    MakeDirectory
    | MakeLink
    | ReadLink
    | RemoveLink
    | SetQuota
    | ReadFacts
    | ListNames
    | MoveDirectory
    | MakeSnapshot
    | RemoveSnapshot
    | RemoveSome
    | CopySome
)


class FileAnswer(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    pass


class WorkerReady(FileAnswer, frozen=True, kw_only=True, tag=True):
    address: str
    """Of the client, as a blocklist names it."""


class RequestDone(FileAnswer, frozen=True, kw_only=True, tag=True):
    pass


class RequestFailed(FileAnswer, frozen=True, kw_only=True, tag=True):
    number: int
    """Of the operating system."""
    text: str


class StepDone(FileAnswer, frozen=True, kw_only=True, tag=True):
    is_last: bool


class FoundNames(FileAnswer, frozen=True, kw_only=True, tag=True):
    names: tuple[str, ...]


class DirectoryFacts(FileAnswer, frozen=True, kw_only=True, tag=True):
    quota_bytes: int
    """Zero: there is none."""
    used_bytes: int
    """By all files below it; a few seconds old while they are written to."""
    pool: str
    """Empty: that of the directory above."""
    snapshots: tuple[str, ...]


Answer = WorkerReady | RequestDone | RequestFailed | StepDone | FoundNames | DirectoryFacts
