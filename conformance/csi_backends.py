"""Every backend of our driver before csi-sanity: with what it is started, and what is asked of it.

Disks are sparse images in a directory of the test, so that nothing of the machine is touched.
What a machine cannot do is skipped, and said.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path

import yaml

from conformance.csi_drivers import Driver, our_driver
from conformance.csi_sanity import MEBIBYTE, NOT_FOR_MANY, Questions, ask, told
from plimsoll.processes.driver.backends.lvm.kernel import why_no_device_mapper

Say = Callable[[str], None]
Ground = Callable[[Path], AbstractContextManager[tuple[str, ...]]]
"""Makes what a driver is to work on, in a directory, and gives the flags that tell it so."""
GIBIBYTE = 1 << 30
DISK_BYTES = 24 * GIBIBYTE
"""What csi-sanity asks for in sum, in images that are written to here and there."""
CLIENTS = 8
LIMIT = 16
"""Volumes per node; more than all clients have attached at a time."""
ALONE_ON_THE_NODE = {
    "should fail when publishing more volumes than the node max attach limit": (
        "attaches as many volumes as the node takes"
    )
}
MOUNTING = (
    "Node Service NodeUnpublishVolume should remove target path",
    "Node Service should work",
    "Node Service should be idempotent",
)
"""Specs that publish a volume whatever the driver says that its node can do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A backend, and one kind of volumes that it makes."""

    title: str
    ground: Ground
    questions: Questions
    programs: tuple[str, ...] = ()
    """Without which it cannot work."""
    stands_for_many: bool = False
    """Whether many clients are tried with it: minutes each, and its like would show no more."""

    def obstacle(self) -> str:
        """Why it cannot be tried on this machine; empty if it can."""
        if os.geteuid() != 0:
            return "mounts and loop devices need root"
        missing = [name for name in self.programs if shutil.which(name) is None]
        return f"there is no {', '.join(missing)}" if missing else ""


@contextlib.contextmanager
def two_disks(directory: Path) -> Iterator[tuple[str, ...]]:
    """Two disks, and memory. Each disk is a file system of its own in a sparse image.

    What is published is then the room of the disks, whatever else the machine's disk is used for.
    """
    with contextlib.ExitStack() as mounted:
        disks = [
            mounted.enter_context(_file_system(directory / name, DISK_BYTES))
            for name in ("disk-a", "disk-b")
        ]
        yield ("--backend=local", "--memory=12Gi", *(f"--disk={disk}" for disk in disks))


@contextlib.contextmanager
def _file_system(where: Path, size_bytes: int) -> Iterator[Path]:
    """Room that is given back is given back to the machine (discard), so the image stays small."""
    where.mkdir()
    with _loop_device(where.with_suffix(".img"), size_bytes) as device:
        _done("mkfs.ext4", "-q", "-O", "^has_journal", "-E", "lazy_itable_init=1", device)
        _done("mount", "-o", "discard", device, str(where))
        try:
            yield where
        finally:
            _done("umount", str(where))


def _done(*command: str) -> None:
    subprocess.run(command, check=True, timeout=60)


@contextlib.contextmanager
def zonal_pools(directory: Path) -> Iterator[tuple[str, ...]]:
    """One pool for all nodes, and one in the zone of each; the node is in the first."""
    pools = [
        {"name": "everywhere", "size": "64Gi", "kind": "global"},
        {"name": "here", "size": "64Gi", "kind": "zonal", "topology": {"zone": "a"}},
        {"name": "there", "size": "64Gi", "kind": "zonal", "topology": {"zone": "b"}},
    ]
    described = directory / "pools.yaml"
    described.write_text(yaml.safe_dump({"pools": pools}))
    yield (
        "--backend=pools",
        f"--pools={described}",
        "--topology=zone=a",
        f"--max-volumes={LIMIT}",
    )


@contextlib.contextmanager
def volume_group(directory: Path) -> Iterator[tuple[str, ...]]:
    """A group on two loop devices, made by the driver."""
    with contextlib.ExitStack() as devices:
        disks = [
            devices.enter_context(_loop_device(directory / name, 8 * GIBIBYTE))
            for name in ("disk-a.img", "disk-b.img")
        ]
        group = f"plimsoll-{directory.name.replace('_', '-')}"
        options = ("--backend=lvm", f"--volume-group={group}", "--backend-option=create=true")
        yield (*options, *(f"--disk={disk}" for disk in disks))


@contextlib.contextmanager
def _loop_device(image: Path, size_bytes: int) -> Iterator[str]:
    with image.open("wb") as file:
        file.truncate(size_bytes)
    attached = subprocess.run(
        ["losetup", "--find", "--show", str(image)], capture_output=True, check=True, timeout=30
    )
    device = attached.stdout.decode().strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True, timeout=30)
        image.unlink()


NOT_ON_LVM = dict.fromkeys(MOUNTING, why) if (why := why_no_device_mapper()) else {}
LARGER = Questions(size_bytes=512 * MEBIBYTE, expanded_bytes=640 * MEBIBYTE)
"""For file systems that are not made any smaller."""
IN_EXTENTS = Questions(size_bytes=64 * MEBIBYTE, expanded_bytes=128 * MEBIBYTE)
"""lvm2 gives out whole extents: other sizes would be rounded up."""
ON_POOLS = Questions(
    parameters={"kind": "global"},
    mutable_parameters={"iops": "3000"},
    flags=("--csi.testnodevolumeattachlimit=true",),
)

CANDIDATES = (
    Candidate(
        title="local, directories",
        ground=two_disks,
        questions=Questions(parameters={"type": "directory"}),
    ),
    Candidate(
        title="local, images with ext4",
        ground=two_disks,
        questions=Questions(parameters={"type": "image"}),
        programs=("mkfs.ext4",),
        stands_for_many=True,
    ),
    Candidate(
        title="local, block",
        ground=two_disks,
        questions=Questions(access_type="block"),
        stands_for_many=True,
    ),
    Candidate(
        title="local, memory",
        ground=two_disks,
        questions=Questions(parameters={"medium": "memory"}),
        stands_for_many=True,
    ),
    Candidate(
        title="local, striped",
        ground=two_disks,
        questions=replace(LARGER, parameters={"layout": "striped"}),
        programs=("mkfs.btrfs",),
    ),
    Candidate(
        title="local, mirrored",
        ground=two_disks,
        questions=replace(LARGER, parameters={"layout": "mirrored"}),
        programs=("mkfs.btrfs",),
    ),
    Candidate(
        title="lvm, linear",
        ground=volume_group,
        questions=replace(IN_EXTENTS, not_asked=NOT_ON_LVM),
        programs=("lvm",),
        stands_for_many=True,
    ),
    Candidate(
        title="lvm, striped",
        ground=volume_group,
        questions=replace(IN_EXTENTS, not_asked=NOT_ON_LVM, parameters={"layout": "striped"}),
        programs=("lvm",),
    ),
    Candidate(title="pools, mount", ground=zonal_pools, questions=ON_POOLS, stands_for_many=True),
    Candidate(
        title="pools, block", ground=zonal_pools, questions=replace(ON_POOLS, access_type="block")
    ),
)


def one_client(say: Say) -> None:
    """Raises AssertionError when csi-sanity finds something, or something is left."""
    for candidate in CANDIDATES:
        _try(candidate, candidate.questions, 1, say)


def many_clients(say: Say) -> None:
    """The same at once, without the specs that suppose to be alone."""
    alone = {**NOT_FOR_MANY, **ALONE_ON_THE_NODE}
    for candidate in filter(attrgetter("stands_for_many"), CANDIDATES):
        asked = candidate.questions
        _try(candidate, replace(asked, not_asked={**asked.not_asked, **alone}), CLIENTS, say)


def _try(candidate: Candidate, questions: Questions, clients: int, say: Say) -> None:
    if obstacle := candidate.obstacle():
        say(f"{candidate.title}: not tried: {obstacle}")
        return
    say(candidate.title)
    for specs, why in questions.not_asked.items():
        say(f'{candidate.title}: without "{specs}": {why}')
    with tempfile.TemporaryDirectory(prefix="plimsoll-csi-") as name:
        directory = Path(name)
        driver = Driver(name="sanity.plimsoll.dev", node="node-1", directory=directory / "driver")
        with candidate.ground(directory) as flags, our_driver(driver, *flags):
            for line in sorted(
                {told(report) for report in ask(driver, questions, clients=clients)}
            ):
                say(f"{candidate.title}: {line}")
