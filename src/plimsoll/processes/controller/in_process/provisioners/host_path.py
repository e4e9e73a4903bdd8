"""`plimsoll.dev/host-path`: directories of the machine that the controller runs on.

For clusters of one machine, for tests and for demonstrations: the directory is created where the
controller runs, not on the selected node. The size of a volume is not enforced.

Everything happens below one root, by names without slashes relative to its open directory, never
through a symbolic link: neither a forged volume nor a link put into a volume reaches outside.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from plimsoll.api.core import Node
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import BLOCK, PersistentVolume, PersistentVolumeClaim
from plimsoll.processes.controller.in_process.provisioners.protocol import (
    DeleteRequest,
    MadeVolume,
    Provisioner,
    ProvisionerEnvironment,
    ProvisionerError,
    ProvisionRequest,
    Trouble,
)
from plimsoll.runtime.blocking import Blocking
from plimsoll.runtime.files.trees import remove_tree_at

NAME = "plimsoll.dev/host-path"
HOSTNAME = "kubernetes.io/hostname"
DOOMED = ".deleting-"
"""What is being deleted is renamed first: it is gone for all programs at one moment."""
# Pods run as any user, and what protects the data of one from another is the node's business.
MODE = 0o777


class HostPath(Provisioner):
    name = NAME
    recycles = True

    def __init__(self, root: Path, blocking: Blocking) -> None:
        self._root = root
        self._blocking = blocking

    def objection(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> str:
        if claim.spec.volume_mode == BLOCK:
            return f"{NAME} does not support block volume provisioning"
        return super().objection(claim, storage_class)

    def knows(self, volume: PersistentVolume) -> bool:
        source = volume.spec.host_path
        return source is not None and self._find_name(source.path) is not None

    async def provision(self, request: ProvisionRequest) -> MadeVolume:
        name = self._checked(request.volume_name)
        await self._carry_out(lambda: self._make(name))
        node = request.selected_node
        return MadeVolume(
            source={"hostPath": {"path": str(self._root / name), "type": "Directory"}},
            reachable_from={HOSTNAME: (_hostname(node),)} if node else {},
        )

    async def delete(self, request: DeleteRequest) -> None:
        name = self._name_of(request.volume) if request.volume else request.volume_name
        await self._carry_out(lambda: self._remove(self._checked(name)))

    async def recycle(self, volume: PersistentVolume) -> None:
        name = self._checked(self._name_of(volume))
        await self._carry_out(lambda: self._scrub(name))

    async def free_bytes(
        self,
        storage_class: StorageClass,  # noqa: ARG002 - one root for all classes
        node: Node | None,  # noqa: ARG002 - and for all nodes
    ) -> int | None:
        def ask() -> int:
            found = os.statvfs(next(p for p in (self._root, *self._root.parents) if p.exists()))
            return found.f_bavail * found.f_frsize

        return await self._blocking(ask)

    def _name_of(self, volume: PersistentVolume) -> str:
        source = volume.spec.host_path
        name = self._find_name(source.path) if source else None
        if name is None:
            raise ProvisionerError(
                Trouble.REFUSED, f"volume {volume.name} is not a directory right below {self._root}"
            )
        return name

    def _find_name(self, path: str) -> str | None:
        """The name of a directory right below the root; None for every other path."""
        pure = PurePosixPath(path)
        is_ours = pure.parent == PurePosixPath(self._root) and _is_plain(pure.name)
        return pure.name if is_ours else None

    @staticmethod
    def _checked(name: str) -> str:
        if not _is_plain(name):
            raise ProvisionerError(Trouble.REFUSED, f'"{name}" is no name of a directory')
        return name

    async def _carry_out(self, work: Callable[[], None]) -> None:
        try:
            await self._blocking(work)
        except OSError as error:
            message = f"{error.strerror or error} ({self._root})"
            raise ProvisionerError(Trouble.TRY_AGAIN, message) from error

    @contextlib.contextmanager
    def _open_root(self) -> Iterator[int]:
        self._root.mkdir(parents=True, exist_ok=True)
        root = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield root
        finally:
            os.close(root)

    def _make(self, name: str) -> None:
        with self._open_root() as root:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=root)
            with _open_directory(name, root) as made:
                os.fchmod(made, MODE)
                os.fsync(made)
            os.fsync(root)

    def _remove(self, name: str) -> None:
        with self._open_root() as root:
            doomed = DOOMED + name
            if _is_directory(doomed, root):
                remove_tree_at(doomed, root)  # left by a deletion that was cut short
            if _is_directory(name, root):
                os.rename(name, doomed, src_dir_fd=root, dst_dir_fd=root)
                remove_tree_at(doomed, root)
            os.fsync(root)

    def _scrub(self, name: str) -> None:
        with self._open_root() as root, _open_directory(name, root) as directory:
            for entry in os.listdir(directory):  # noqa: PTH208 - of an open directory
                found = os.stat(entry, dir_fd=directory, follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode):
                    remove_tree_at(entry, directory)
                else:
                    os.unlink(entry, dir_fd=directory)
            os.fsync(directory)


@contextlib.contextmanager
def _open_directory(name: str, root: int) -> Iterator[int]:
    directory = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
    try:
        yield directory
    finally:
        os.close(directory)


def _is_directory(name: str, root: int) -> bool:
    """False when there is nothing. Raises NotADirectoryError for anything else, links included."""
    try:
        found = os.stat(name, dir_fd=root, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(20, f"{name} is not a directory")
    return True


def _is_plain(name: str) -> bool:
    return bool(name) and "/" not in name and "\0" not in name and not name.startswith(".")


def _hostname(node: Node) -> str:
    return node.labels.get(HOSTNAME) or node.name


def make(environment: ProvisionerEnvironment) -> HostPath:
    """Option `root`: an absolute path; by default a directory of the controller's own."""
    environment.refuse_options_but("root")
    root = Path(environment.options.get("root") or environment.directory.absolute())
    if not root.is_absolute():
        raise ValueError(f"root: {root} is not an absolute path")
    return HostPath(Path(os.path.normpath(root)), environment.blocking)
