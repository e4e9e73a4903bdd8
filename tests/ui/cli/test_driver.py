"""The driver as a program: it answers on its socket, and survives being killed."""

import http.client
import re
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path

import pytest
import yaml

from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi, pluginregistration_pb2 as registration
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from tests.processes.driver.drivers import MIB, create_request, expand_request, names
from tests.servers import plimsoll

POOLS = {
    "pools": [
        {"name": "a", "size": "1Gi", "topology": {"zone": "a"}},
        {"name": "b", "size": "1Gi", "topology": {"zone": "b"}},
    ]
}
TOTAL = 2048


@pytest.fixture
def pools(tmp_path: Path) -> Path:
    file = tmp_path / "pools.yaml"
    file.write_text(yaml.safe_dump(POOLS))
    return file


def command(directory: Path, *flags: str) -> list[str]:
    return [
        plimsoll(),
        "driver",
        "--backend=pools",
        f"--data-dir={directory}",
        f"--pools={directory.parent / 'pools.yaml'}",
        "--node-id=node-1",
        "--mounts=linked",
        *flags,
    ]


def running(
    directory: Path, *flags: str
) -> AbstractContextManager[tuple[subprocess.Popen[str], str]]:
    return started(command(directory, *flags))


@contextmanager
def started(argv: list[str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and the line it prints when it is ready."""
    process = subprocess.Popen(
        argv,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


@asynccontextmanager
async def connected(socket: Path) -> AsyncIterator[CsiClient]:
    client = CsiClient(GrpcTransport(f"unix://{socket}"))
    try:
        yield client
    finally:
        await client.close()


async def taken_mib(client: CsiClient) -> int:
    answer = await client.call(m.GET_CAPACITY, csi.GetCapacityRequest())
    return TOTAL - answer.available_capacity // MIB


def refused(argv: list[str], code: int = 2) -> str:
    """What it says instead of starting."""
    completed = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert (completed.returncode, completed.stdout) == (code, "")
    return completed.stderr


@pytest.mark.usefixtures("pools")
async def test_a_driver_answers_until_it_is_told_to_stop(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data, "--metrics-port=0") as (process, line):
        assert line.startswith(
            f"plimsoll driver ready; pools.plimsoll.dev on unix://{data}/csi.sock"
        )
        async with connected(data / "csi.sock") as client:
            volume = (await client.call(m.CREATE_VOLUME, create_request("data", mib=5))).volume
            assert (data / "volumes" / volume.volume_id).is_dir()
        port = re.search(r"http://127.0.0.1:(\d+)/metrics", line)
        assert port
        connection = http.client.HTTPConnection("127.0.0.1", int(port[1]), timeout=10)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        assert 'plimsoll_driver_calls_total{code="OK",method="CreateVolume"} 1.0' in text
        connection.request("GET", "/readyz")
        assert connection.getresponse().status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
        assert "csi.sock" not in names(data)


async def lived(client: CsiClient) -> str:
    """A volume that grew, and one that is gone."""
    volume = (await client.call(m.CREATE_VOLUME, create_request("data", mib=5))).volume
    await client.call(m.CONTROLLER_EXPAND_VOLUME, expand_request(volume.volume_id, 10))
    request = csi.CreateSnapshotRequest(source_volume_id=volume.volume_id, name="backup")
    snapshot = (await client.call(m.CREATE_SNAPSHOT, request)).snapshot
    gone = csi.DeleteSnapshotRequest(snapshot_id=snapshot.snapshot_id)
    await client.call(m.DELETE_SNAPSHOT, gone)
    short = (await client.call(m.CREATE_VOLUME, create_request("short", mib=7))).volume
    await client.call(m.DELETE_VOLUME, csi.DeleteVolumeRequest(volume_id=short.volume_id))
    return volume.volume_id


@pytest.mark.usefixtures("pools")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "call",
    [
        "CreateVolume",
        "ControllerExpandVolume",
        "CreateSnapshot",
        "DeleteSnapshot",
        "DeleteVolume",
    ],
)
async def test_being_killed_in_the_middle_of_a_call_leaves_everything_whole(
    call: str, when: str, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    script = [{"call": call, "do": "crash", "when": when}]
    (data / "faults.yaml").write_text(yaml.safe_dump(script))
    with running(data) as (process, _):
        async with connected(data / "csi.sock") as client:
            with pytest.raises(DriverError):
                await lived(client)
        assert process.wait(timeout=30) == -signal.SIGKILL
    with running(data):
        async with connected(data / "csi.sock") as client:
            volume_id = await lived(client)
            assert await taken_mib(client) == 10
    assert names(data / "volumes") == {volume_id}
    assert names(data / "snapshots") == set()


@pytest.mark.usefixtures("pools")
def test_a_second_driver_on_the_same_directory_does_not_start(tmp_path: Path) -> None:
    with running(tmp_path / "data"):
        endpoint = f"--endpoint=unix://{tmp_path}/other.sock"
        second = refused(command(tmp_path / "data", endpoint), code=1)
        assert "another driver runs on this directory" in second


@pytest.mark.usefixtures("pools")
async def test_several_nodes_have_a_socket_each_and_the_same_volumes(tmp_path: Path) -> None:
    nodes = [
        {"id": name, "endpoint": f"unix://{tmp_path}/{name}.sock", "topology": {"zone": name}}
        for name in ("a", "b")
    ]
    settings = tmp_path / "settings.yaml"
    document = {
        "backend": "pools",
        "dataDir": str(tmp_path / "data"),
        "pools": str(tmp_path / "pools.yaml"),
        "mounts": "none",
        "nodes": nodes,
    }
    settings.write_text(yaml.safe_dump(document))
    sockets = (tmp_path / "a.sock", tmp_path / "b.sock")
    with started([plimsoll(), "driver", f"--settings={settings}"]):
        async with connected(sockets[0]) as first, connected(sockets[1]) as other:
            volume = (await first.call(m.CREATE_VOLUME, create_request("data", mib=5))).volume
            listed = await other.call(m.LIST_VOLUMES, csi.ListVolumesRequest())
            assert [entry.volume for entry in listed.entries] == [volume]
            info = await other.call(m.NODE_GET_INFO, csi.NodeGetInfoRequest())
            assert info.node_id == "b"
            segments = {"topology.pools.plimsoll.dev/zone": "b"}
            assert dict(info.accessible_topology.segments) == segments


@pytest.mark.usefixtures("pools")
async def test_a_driver_registers_itself_where_it_is_told(tmp_path: Path) -> None:
    # Directories of tests have names that are too long for a socket in them.
    with (
        tempfile.TemporaryDirectory(prefix="plimsoll-") as registry,
        running(tmp_path / "data", f"--plugin-registration-dir={registry}"),
    ):
        async with connected(Path(registry, "pools.plimsoll.dev-reg.sock")) as client:
            info = await client.call(m.REGISTRATION_INFO, registration.InfoRequest())
            assert (info.name, info.endpoint) == (
                "pools.plimsoll.dev",
                str(tmp_path / "data" / "csi.sock"),
            )


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--backend=tape",), "tape"),
        (("--disk=/srv=much",), "is no size"),
        (("--disk=/srv=5",), "'5' has no unit; write it like 5Gi"),
        (("--memory=500m",), "is no size; write it like 10Gi"),
        (("--disk=/nosuch",), "disk /nosuch: does not exist"),
        (("--topology=zone",), "write KEY=VALUE"),
        (("--backend=pools",), "pools: none are described"),
        (("--driver-name=No",), "--driver-name"),
        (("--orchestrator=nomad",), "orchestrator 'nomad' is not known; only kubernetes is"),
        (("--domain-labels=a/zone;b/zone",), "--domain-labels: a/zone and b/zone would be one"),
        (("--settings=/nonexistent.yaml",), "cannot be read"),
        (("--endpoint=tcp://127.0.0.1:3",), "use unix:///path/of/the/socket"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_cannot_be_is_bad_usage(flags: tuple[str, ...], told: str, tmp_path: Path) -> None:
    assert told in refused([plimsoll(), "driver", f"--data-dir={tmp_path}", *flags])


def test_what_is_wrong_with_pools_is_told_with_their_file(pools: Path, tmp_path: Path) -> None:
    pools.write_text(yaml.safe_dump(POOLS | {"foo": 1}))
    told = refused(command(tmp_path / "data"))
    assert f"pools: {pools}: Object contains unknown field foo" in told
    other = refused(command(tmp_path / "data", "--backend-option=bar=1"))
    assert f"pools: {pools} and the other options: " in other
