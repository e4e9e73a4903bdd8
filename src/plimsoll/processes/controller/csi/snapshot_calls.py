"""The calls about snapshots as decisions describe them, as CSI's messages, and the answers back."""

from plimsoll.decide.csi.snapshots.content import DeleteSnapshot, FindSnapshot, Taken, TakeSnapshot
from plimsoll.decide.csi.steps import Failure, NotAsked
from plimsoll.decide.provisioning.calls import CallFailed, Code
from plimsoll.processes.controller.csi.driver_calls import DriverCalls
from plimsoll.processes.controller.csi.drivers import KnownDriver
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.gen import csi_pb2 as csi

NANOSECONDS = 1_000_000_000


class SnapshotCalls:
    def __init__(self, driver_calls: DriverCalls) -> None:
        self._driver_calls = driver_calls

    async def take(self, driver: KnownDriver, call: TakeSnapshot) -> Taken | Failure:
        answer = await self._driver_calls.call(
            driver,
            methods.CREATE_SNAPSHOT,
            lambda secrets: csi.CreateSnapshotRequest(
                name=call.name,
                source_volume_id=call.volume_handle,
                parameters=call.parameters,
                secrets=secrets,
            ),
            call.secret,
        )
        return answer if isinstance(answer, Failure) else _taken(answer.snapshot)

    async def find(self, driver: KnownDriver, call: FindSnapshot) -> Taken | Failure:
        """If the driver cannot tell, the handle that the content names is believed."""
        if "LIST_SNAPSHOTS" in driver.controller:
            return await self._listed(driver, call)
        if "GET_SNAPSHOT" in driver.controller:
            return await self._got(driver, call)
        return Taken(handle=call.handle, is_ready=True)

    async def _listed(self, driver: KnownDriver, call: FindSnapshot) -> Taken | Failure:
        answer = await self._driver_calls.call(
            driver,
            methods.LIST_SNAPSHOTS,
            lambda secrets: csi.ListSnapshotsRequest(snapshot_id=call.handle, secrets=secrets),
            call.secret,
        )
        if isinstance(answer, Failure):
            return answer
        if not answer.entries:
            return NotAsked(f"can not find snapshot for snapshotID {call.handle}")
        return _taken(answer.entries[0].snapshot)

    async def _got(self, driver: KnownDriver, call: FindSnapshot) -> Taken | Failure:
        answer = await self._driver_calls.call(
            driver,
            methods.GET_SNAPSHOT,
            lambda secrets: csi.GetSnapshotRequest(snapshot_id=call.handle, secrets=secrets),
            call.secret,
        )
        return answer if isinstance(answer, Failure) else _taken(answer.snapshot)

    async def delete(self, driver: KnownDriver, call: DeleteSnapshot) -> Failure | None:
        answer = await self._driver_calls.call(
            driver,
            methods.DELETE_SNAPSHOT,
            lambda secrets: csi.DeleteSnapshotRequest(snapshot_id=call.handle, secrets=secrets),
            call.secret,
        )
        is_gone = isinstance(answer, CallFailed) and answer.code is Code.NOT_FOUND
        return answer if isinstance(answer, Failure) and not is_gone else None


def _taken(snapshot: csi.Snapshot) -> Taken:
    at = snapshot.creation_time
    return Taken(
        handle=snapshot.snapshot_id,
        is_ready=snapshot.ready_to_use,
        created_at=at.seconds * NANOSECONDS + at.nanos,
        size_bytes=snapshot.size_bytes,
    )
