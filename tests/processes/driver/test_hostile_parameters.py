"""Whatever text stands in a request, the driver answers on its socket with a reason, not a bug."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from plimsoll.processes.driver.ledger import Ledger
from plimsoll.processes.driver.main import handlers, running
from plimsoll.processes.driver.settings import BackendSettings, Disk, Mounts, NodeSettings
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.client import CsiClient
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.grpc_transport import GrpcTransport
from plimsoll.wire.csi.server import listening
from tests.processes.driver.backends.lvm.disks import needs_lvm, volume_group
from tests.processes.driver.drivers import MIB, create_request

HOSTILE = (
    *("", "0", "-1", "+2", "1e9", "2.0", "0x10", " 2", "2 ", "2\n", "two", "NaN", "inf", "null"),
    *("99999999999999999999", "9223372036854775807", "9223372036854775808", "4294967296"),
    *(
        "9" * 5000,
        "0" * 5000 + "2",
        "-" + "9" * 400,
        "٣",
        "²",
        "Ⅷ",
        "2",
        "\N{MATHEMATICAL DOUBLE-STRUCK DIGIT TWO}",
        "1_000",
    ),
    *("\0", "2\0", "../../etc", "$(reboot)", "%s%n", "'; --", "\u202e2", "🦀" * 100),
)
LETTERS = "0123456789-+eE._ \t\n\0abcXYZ٣²\N{MATHEMATICAL DOUBLE-STRUCK DIGIT TWO}{}[]'\"\\/=,;$"
REASONS = frozenset({"INVALID_ARGUMENT", "OUT_OF_RANGE", "RESOURCE_EXHAUSTED", "ALREADY_EXISTS"})
PARAMETERS = {
    "local": ("type", "medium", "layout", "stripes", "fsType", "unknown"),
    "lvm": ("layout", "stripes", "unknown"),
    "pools": ("pool", "kind", "domains", "unknown"),
}
BACKENDS = [
    pytest.param("local", id="local"),
    pytest.param("lvm", id="lvm", marks=needs_lvm),
    pytest.param("pools", id="pools"),
]


@asynccontextmanager
async def on_a_socket(backend: str, settings: BackendSettings) -> AsyncIterator[CsiClient]:
    async with running(backend, settings, Ledger(None)) as driver:
        endpoint = f"unix://{settings.data_dir / 'csi.sock'}"
        async with listening(endpoint, handlers(driver, settings.nodes[0], settings)):
            client = CsiClient(GrpcTransport(endpoint), within=timedelta(minutes=1))
            try:
                yield client
            finally:
                await client.close()


@asynccontextmanager
async def a_driver(backend: str, directory: Path) -> AsyncIterator[CsiClient]:
    if backend == "lvm":
        with volume_group(directory, [8, 8]) as (_, settings):
            async with on_a_socket(backend, settings) as client:
                yield client
        return
    is_root = os.geteuid() == 0
    paths = (directory / "disk-0", directory / "disk-1")
    disks = tuple(Disk(path=path, size_bytes=64 * MIB, create=True) for path in paths)
    settings = BackendSettings(
        driver_name=f"{backend}.test",
        data_dir=directory,
        nodes=(NodeSettings(id="alpha", disks=disks),),
        options={"pools": [{"name": "only", "size": "64Mi"}]} if backend == "pools" else {},
        mounts=Mounts.REAL if is_root and backend == "local" else Mounts.LINKED,
    )
    async with on_a_socket(backend, settings) as client:
        yield client


def random_texts(seed: int, count: int) -> list[str]:
    chance = Random(seed)
    return ["".join(chance.choices(LETTERS, k=chance.randint(1, 30))) for _ in range(count)]


async def answer(client: CsiClient, request: csi.CreateVolumeRequest) -> str:
    """The code; what was made is deleted again."""
    try:
        made = await client.call(m.CREATE_VOLUME, request)
    except DriverError as error:
        return error.code
    await client.call(m.DELETE_VOLUME, csi.DeleteVolumeRequest(volume_id=made.volume.volume_id))
    return "OK"


@pytest.mark.parametrize("backend", BACKENDS)
async def test_every_parameter_is_read_or_refused(tmp_path: Path, backend: str) -> None:
    texts = (*HOSTILE, *random_texts(seed=12, count=40))
    async with a_driver(backend, tmp_path) as client:
        for name in PARAMETERS[backend]:
            for text in texts:
                parameters = {name: text}
                if name == "stripes":
                    parameters["layout"] = "striped"
                request = create_request("data", mib=1, parameters=parameters)
                assert await answer(client, request) in REASONS | {"OK"}, (name, text)
                assert await capacity(client, parameters) in REASONS | {"OK"}, (name, text)


async def capacity(client: CsiClient, parameters: dict[str, str]) -> str:
    """The code."""
    try:
        await client.call(m.GET_CAPACITY, csi.GetCapacityRequest(parameters=parameters))
    except DriverError as error:
        return error.code
    return "OK"


@pytest.mark.parametrize("text", ["99999999999999999999", "-1", "0", "two", "٣", "9" * 5000])
@pytest.mark.parametrize(
    ("backend", "name"),
    [
        pytest.param("local", "stripes", id="local-stripes"),
        pytest.param("lvm", "stripes", id="lvm-stripes", marks=needs_lvm),
        pytest.param("pools", "domains", id="pools-domains"),
    ],
)
async def test_a_number_that_cannot_be_is_refused_with_its_bounds(
    tmp_path: Path, backend: str, name: str, text: str
) -> None:
    async with a_driver(backend, tmp_path) as client:
        parameters = {name: text} | ({"layout": "striped"} if name == "stripes" else {})
        with pytest.raises(
            DriverError, match=rf"{name}: .* is no number from \d to \d+"
        ) as refusal:
            await client.call(m.CREATE_VOLUME, create_request("data", parameters=parameters))
        assert refusal.value.code == "INVALID_ARGUMENT"


@pytest.mark.parametrize("text", HOSTILE)
async def test_what_a_volume_may_change_is_read_or_refused(tmp_path: Path, text: str) -> None:
    async with a_driver("pools", tmp_path) as client:
        for name in ("iops", "throughput", "unknown"):
            request = create_request("data", mib=1, mutable={name: text})
            assert await answer(client, request) in REASONS | {"OK"}


SIZES = (0, 1, -1, 2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63))


@pytest.mark.parametrize("backend", BACKENDS)
async def test_every_size_is_made_or_refused(tmp_path: Path, backend: str) -> None:
    async with a_driver(backend, tmp_path) as client:
        for wanted in SIZES:
            for limit in SIZES:
                request = create_request("data")
                request.capacity_range.required_bytes = wanted
                request.capacity_range.limit_bytes = limit
                assert await answer(client, request) in REASONS | {"OK"}, (wanted, limit)


@pytest.mark.parametrize("backend", ["local", "pools"])
async def test_every_name_file_system_and_mount_option_is_taken_or_refused(
    tmp_path: Path, backend: str
) -> None:
    async with a_driver(backend, tmp_path) as client:
        for text in (*HOSTILE, *random_texts(seed=13, count=40)):
            request = create_request(text, mib=1)
            assert await answer(client, request) in REASONS | {"OK"}
            request = create_request("data", mib=1, fs_type=text)
            assert await answer(client, request) in REASONS | {"OK"}
            request = create_request("data", mib=1)
            request.volume_capabilities[0].mount.mount_flags.append(text)
            assert await answer(client, request) in REASONS | {"OK"}


async def test_a_path_that_cannot_be_one_is_refused(tmp_path: Path) -> None:
    async with a_driver("pools", tmp_path) as client:
        made = await client.call(m.CREATE_VOLUME, create_request("data", mib=1))
        for text in ("/\0", "/a\0b", "relative", "/" + "x" * 300, "/x" * 2500):
            request = csi.NodeStageVolumeRequest(
                volume_id=made.volume.volume_id,
                staging_target_path=text,
                volume_capability=create_request("data").volume_capabilities[0],
            )
            with pytest.raises(DriverError) as refusal:
                await client.call(m.NODE_STAGE_VOLUME, request)
            assert refusal.value.code in REASONS
