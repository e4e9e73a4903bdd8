"""A node and the local driver, each a process of its own: volumes are file systems, for real."""

import asyncio
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from plimsoll.simulator.stories.nodes import a_bound_claim, driver_object
from plimsoll.simulator.stories.objects import pod, uses
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from plimsoll.wire.csi.methods import CREATE_VOLUME, DELETE_VOLUME
from tests.processes.node.machine import Machine, a_machine, needs_root

PLIMSOLL = Path(sys.executable).with_name("plimsoll")
NAME = "local.plimsoll.dev"
SIZE = 64 * 1024**2

pytestmark = [
    needs_root,
    pytest.mark.skipif(shutil.which("mkfs.ext4") is None, reason="mkfs.ext4 is not installed"),
]


def started(log: Path, command: list[str]) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return subprocess.Popen([PLIMSOLL, *command], stdout=file, stderr=file)


@asynccontextmanager
async def the_driver(directory: Path, registry: Path) -> AsyncIterator[CsiClient]:
    endpoint = f"unix://{directory}/csi.sock"
    command = ["driver", "--backend", "local", "--endpoint", endpoint, "--node-id", "node-0"]
    command += [
        "--data-dir",
        f"{directory}/driver",
        "--disk",
        f"{directory}/disk=512Mi",
        "--create-disk",
    ]
    command += ["--plugin-registration-dir", str(registry)]
    process = started(directory / "driver.log", command)
    client = CsiClient(GrpcTransport(endpoint), within=timedelta(seconds=30))
    try:
        yield client
    finally:
        await client.close()
        process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(process.wait, 30)


async def a_volume(client: CsiClient) -> str:
    mode = csi.VolumeCapability.AccessMode(mode="SINGLE_NODE_WRITER")
    mount = csi.VolumeCapability.MountVolume(fs_type="ext4")
    request = csi.CreateVolumeRequest(
        name="pvc-1",
        capacity_range=csi.CapacityRange(required_bytes=SIZE),
        volume_capabilities=[csi.VolumeCapability(mount=mount, access_mode=mode)],
    )
    made = await client.call(CREATE_VOLUME, request)
    return made.volume.volume_id


async def mount_of(machine: Machine, name: str) -> Path:
    uid: str = (await machine.cluster.get("Pod", name))["metadata"]["uid"]
    return machine.directory / "pods" / uid / "volumes/kubernetes.io~csi/volume-data/mount"


async def test_a_file_written_in_one_pod_is_read_in_the_next_after_a_reboot(
    short_path: Path,
) -> None:
    async with (
        a_machine(short_path) as machine,
        the_driver(short_path, machine.registry) as client,
    ):
        await machine.start()
        await machine.until_drivers(NAME)
        driver = driver_object()
        driver["metadata"]["name"] = NAME
        await machine.cluster.create(driver)
        handle = await a_volume(client)
        source = {"driver": NAME, "volumeHandle": handle, "fsType": "ext4"}
        await a_bound_claim(machine.cluster, csi=source)
        await machine.cluster.create(pod(volumes=[uses("data")], node="node-0"))
        await machine.until_phase("web", "Running")
        mount = await mount_of(machine, "web")
        assert str(mount) in machine.mounted()
        (mount / "hello").write_text("world")

        await machine.reboot()
        await machine.start()

        async def is_back() -> bool:
            return (mount / "hello").exists()

        await machine.until(is_back)
        await machine.cluster.delete("Pod", "web")
        await machine.until_phase("web", "gone")
        await machine.cluster.create(pod("next", volumes=[uses("data")], node="node-0"))
        await machine.until_phase("next", "Running")
        assert (await mount_of(machine, "next") / "hello").read_text() == "world"
        await machine.cluster.delete("Pod", "next")
        await machine.until_phase("next", "gone")
        assert machine.mounted() == []
        await client.call(DELETE_VOLUME, csi.DeleteVolumeRequest(volume_id=handle))
