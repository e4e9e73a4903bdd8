"""CSI drivers as programs, ours and the real hostpathplugin, for as long as a `with` block runs.

Both are seen only through their socket, so that what is asked of one can be asked of the other.
When a block ends without an error, the driver must have let go of all it had: no volume, no
snapshot, no mount and no loop device may be left.
"""

import asyncio
import contextlib
import json
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import uvloop

from conformance import peers
from conformance.client_checks import CLOCK
from conformance.programs import DiedError, running
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from plimsoll.wire.csi.methods import (
    CONTROLLER_GET_CAPABILITIES,
    GET_PLUGIN_CAPABILITIES,
    LIST_SNAPSHOTS,
    LIST_VOLUMES,
    NODE_GET_CAPABILITIES,
    NODE_GET_INFO,
    PROBE,
)
from tests.servers import plimsoll

HOSTPATH_NAME = "hostpath.csi.k8s.io"
READY = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """One driver that answers on its socket."""

    name: str
    node: str
    directory: Path
    """Everything it keeps, its socket included."""

    @property
    def socket(self) -> Path:
        return self.directory / "csi.sock"

    @property
    def endpoint(self) -> str:
        return f"unix://{self.socket}"

    @property
    def log(self) -> Path:
        return self.directory / "driver.log"

    @property
    def state(self) -> Path:
        return self.directory / "state"


@contextlib.contextmanager
def our_driver(driver: Driver, *flags: str) -> Iterator[Driver]:
    """`plimsoll driver` with the flags of one backend."""
    command = [plimsoll(), "driver", f"--endpoint={driver.endpoint}", f"--node-id={driver.node}"]
    command += [f"--data-dir={driver.state}", f"--driver-name={driver.name}", *flags]
    with _answering(driver, command):
        yield driver


@contextlib.contextmanager
def hostpathplugin(driver: Driver, *flags: str) -> Iterator[Driver]:
    """Raises peers.NotFoundError where there is none."""
    command = [str(peers.find(peers.HOSTPATHPLUGIN)), f"--endpoint={driver.endpoint}"]
    command += [f"--nodeid={driver.node}", f"--statedir={driver.state}"]
    command += [f"--drivername={driver.name}", *flags]
    with _answering(driver, command):
        yield driver


@contextlib.contextmanager
def _answering(driver: Driver, command: list[str]) -> Iterator[None]:
    driver.state.mkdir(parents=True, exist_ok=True)
    with _cleared(driver.directory), running(command, driver.log) as process:
        uvloop.run(_ready(driver, process))
        yield
        assert process.poll() is None, f"the driver died: {_last_words(driver)}"
        assert_nothing_left(driver)


@contextlib.contextmanager
def _cleared(directory: Path) -> Iterator[None]:
    """A driver that fails must not leave the machine with mounts and loop devices."""
    try:
        yield
    finally:
        # The last one first: they may lie on each other.
        for mount in reversed(mounted_below(directory)):
            subprocess.run(["umount", "--lazy", str(mount)], check=False, timeout=30)
        for device in _loop_devices(directory):
            subprocess.run(["losetup", "--detach", device], check=False, timeout=30)


async def _ready(driver: Driver, process: subprocess.Popen[bytes]) -> None:
    deadline = CLOCK.monotonic() + READY.total_seconds()
    async with connected(driver) as client:
        while not await _probed(client):
            if process.poll() is not None or CLOCK.monotonic() > deadline:
                raise DiedError(f"exit code {process.poll()}: {_last_words(driver)}")
            await asyncio.sleep(0.05)


async def _probed(client: CsiClient) -> bool:
    try:
        answer = await client.call(PROBE, csi.ProbeRequest())
    except DriverError:
        return False
    return not answer.HasField("ready") or answer.ready.value


def _last_words(driver: Driver) -> str:
    return "\n".join(driver.log.read_text(errors="replace").splitlines()[-15:])


@contextlib.asynccontextmanager
async def connected(driver: Driver) -> AsyncIterator[CsiClient]:
    client = CsiClient(GrpcTransport(driver.endpoint))
    try:
        yield client
    finally:
        await client.close()


def capabilities(driver: Driver) -> frozenset[str]:
    """What the driver says that it can do: `plugin/…`, `controller/…` and `node/…`."""
    return uvloop.run(_capabilities(driver))


async def _capabilities(driver: Driver) -> frozenset[str]:
    async with connected(driver) as client:
        plugin = await client.call(GET_PLUGIN_CAPABILITIES, csi.GetPluginCapabilitiesRequest())
        controller = await client.call(
            CONTROLLER_GET_CAPABILITIES, csi.ControllerGetCapabilitiesRequest()
        )
        node = await client.call(NODE_GET_CAPABILITIES, csi.NodeGetCapabilitiesRequest())
    services = csi.PluginCapability.Service.Type
    controller_calls = csi.ControllerServiceCapability.RPC.Type
    node_calls = csi.NodeServiceCapability.RPC.Type
    return frozenset(
        [_named("plugin", services.Name, each.service.type) for each in plugin.capabilities]
        + [
            _named("controller", controller_calls.Name, each.rpc.type)
            for each in controller.capabilities
        ]
        + [_named("node", node_calls.Name, each.rpc.type) for each in node.capabilities]
    )


def _named(service: str, name_of: Callable[[int], str], number: int) -> str:
    try:
        return f"{service}/{name_of(number)}"
    except ValueError:  # newer than the CSI that we were made for
        return f"{service}/{number}"


async def segments(driver: Driver) -> dict[str, str]:
    """Where the driver's node is, in its own words."""
    async with connected(driver) as client:
        node = await client.call(NODE_GET_INFO, csi.NodeGetInfoRequest())
    return dict(node.accessible_topology.segments)


async def made_by(driver: Driver) -> list[str]:
    """Ids of the volumes, and of the snapshots if it takes any, that the driver has."""
    able = await _capabilities(driver)
    async with connected(driver) as client:
        volumes = await client.call(LIST_VOLUMES, csi.ListVolumesRequest())
        made = [entry.volume.volume_id for entry in volumes.entries]
        if "controller/LIST_SNAPSHOTS" in able:
            snapshots = await client.call(LIST_SNAPSHOTS, csi.ListSnapshotsRequest())
            made += [entry.snapshot.snapshot_id for entry in snapshots.entries]
    return made


async def attached_to(driver: Driver, volume_id: str) -> list[str]:
    """The nodes that the driver has attached a volume to, in its own words."""
    async with connected(driver) as client:
        volumes = await client.call(LIST_VOLUMES, csi.ListVolumesRequest())
    return [
        node
        for entry in volumes.entries
        if entry.volume.volume_id == volume_id
        for node in entry.status.published_node_ids
    ]


async def has_capability(driver: Driver, name: str) -> bool:
    return name in await _capabilities(driver)


def assert_nothing_left(driver: Driver) -> None:
    made = uvloop.run(made_by(driver))
    assert made == [], f"left in the driver: {made}"
    left = mounted_below(driver.directory)
    assert left == [], f"still mounted: {left}"
    devices = _loop_devices(driver.directory)
    assert devices == [], f"loop devices are left: {devices}"


def mounted_below(directory: Path) -> list[Path]:
    mounts = (line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines())
    return [Path(each) for each in mounts if Path(each).is_relative_to(directory)]


def _loop_devices(directory: Path) -> list[str]:
    """Those with a file below the directory."""
    command = ["losetup", "--list", "--json", "--output", "NAME,BACK-FILE"]
    listed = subprocess.run(command, capture_output=True, check=True, timeout=30)
    devices = json.loads(listed.stdout or b'{"loopdevices": []}')["loopdevices"]
    return [
        each["name"]
        for each in devices
        if each["back-file"] and Path(each["back-file"]).is_relative_to(directory)
    ]
