"""What is advertised is answered, and a volume is confirmed to be what it is."""

from plimsoll.processes.driver.backends.protocol import BackendFeatures
from plimsoll.processes.driver.controller.service import advertised
from plimsoll.wire.csi import methods as m
from plimsoll.wire.csi.errors import DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from tests.processes.driver.drivers import AccessMode, Running, a_driver, capability

Rpc = csi.ControllerServiceCapability.RPC


async def validated(
    running: Running, volume_id: str, wanted: csi.VolumeCapability
) -> csi.ValidateVolumeCapabilitiesResponse:
    request = csi.ValidateVolumeCapabilitiesRequest(
        volume_id=volume_id, volume_capabilities=[wanted]
    )
    return await running.call(m.VALIDATE_VOLUME_CAPABILITIES, request)


def test_a_backend_that_can_do_little_advertises_little() -> None:
    names = {Rpc.Type.Name(item.rpc.type) for item in advertised(BackendFeatures())}
    assert names == {
        "CREATE_DELETE_VOLUME",
        "LIST_VOLUMES",
        "GET_CAPACITY",
        "GET_VOLUME",
        "VOLUME_CONDITION",
        "SINGLE_NODE_MULTI_WRITER",
    }


async def test_pools_can_do_everything() -> None:
    async with a_driver() as running:
        request = csi.ControllerGetCapabilitiesRequest()
        answer = await running.call(m.CONTROLLER_GET_CAPABILITIES, request)
        types = {item.rpc.type for item in answer.capabilities}
        assert types == set(Rpc.Type.values()) - {Rpc.UNKNOWN}


async def test_what_a_volume_can_do_is_confirmed() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=1)
        shared = capability(mode=AccessMode.MULTI_NODE_MULTI_WRITER)
        answer = await validated(running, volume.volume_id, shared)
        assert list(answer.confirmed.volume_capabilities) == [shared]
        assert dict(answer.confirmed.volume_context) == {"backend": "pools"}


async def test_what_a_volume_cannot_do_is_explained() -> None:
    async with a_driver() as running:
        volume = await running.create(mib=1, fs_type="xfs")
        for wanted in (capability(block=True), capability(fs_type="ext4")):
            answer = await validated(running, volume.volume_id, wanted)
            assert not answer.HasField("confirmed")
            assert volume.volume_id in answer.message


async def test_an_unknown_volume_is_not_found() -> None:
    async with a_driver() as running:
        request = csi.ValidateVolumeCapabilitiesRequest(
            volume_id="none", volume_capabilities=[capability()]
        )
        refusal = await running.refused(m.VALIDATE_VOLUME_CAPABILITIES, request)
        assert refusal is DriverFailure.NOT_FOUND
        nothing = csi.ValidateVolumeCapabilitiesRequest(volume_id="none")
        refusal = await running.refused(m.VALIDATE_VOLUME_CAPABILITIES, nothing)
        assert refusal is DriverFailure.REJECTED
