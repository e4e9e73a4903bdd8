import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll.processes.driver.node.registration import (
    Registration,
    registration_endpoint,
    registration_handlers,
)
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.gen import pluginregistration_pb2 as registration
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from plimsoll.wire.csi.methods import NOTIFY_REGISTRATION_STATUS, REGISTRATION_INFO
from plimsoll.wire.csi.server import listening


@pytest.fixture
def directory() -> Iterator[Path]:
    """With a short name: the path of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="reg-") as name:
        yield Path(name)


async def test_a_node_finds_the_driver_through_its_registration_socket(directory: Path) -> None:
    endpoint = registration_endpoint(directory, "local.plimsoll.dev")
    assert endpoint == f"unix://{directory}/local.plimsoll.dev-reg.sock"
    handlers = registration_handlers("local.plimsoll.dev", "unix:///run/csi.sock")
    async with listening(endpoint, handlers):
        client = CsiClient(GrpcTransport(endpoint))
        info = await client.call(REGISTRATION_INFO, registration.InfoRequest())
        heard = registration.RegistrationStatus(plugin_registered=False, error="no such node")
        await client.call(NOTIFY_REGISTRATION_STATUS, heard)
        await client.close()
    assert (info.type, info.name, info.endpoint) == (
        "CSIPlugin",
        "local.plimsoll.dev",
        "/run/csi.sock",
    )
    assert list(info.supported_versions) == ["1.0.0"]


async def test_a_driver_is_found_anew_when_its_topology_changes(directory: Path) -> None:
    socket = directory / "d.io-reg.sock"
    offered = Registration(str(directory), "d.io", "unix:///run/csi.sock")
    assert not socket.exists()
    await offered.offer({"zone": "a"})
    first = socket.stat().st_ctime_ns
    await offered.offer({"zone": "a"})
    assert socket.stat().st_ctime_ns == first
    await offered.offer({"zone": "b"})
    assert socket.stat().st_ctime_ns != first
    await offered.close()
    assert not socket.exists()


async def test_a_driver_that_another_program_registers_has_no_such_socket() -> None:
    offered = Registration("", "d.io", "unix:///run/csi.sock")
    await offered.offer({"zone": "a"})
    await offered.close()
