"""How it is proven, right before a rollback begins, that no pod has used a volume."""

from dataclasses import dataclass

from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.rollback.objections import RollbackView
from plimsoll.decide.rollback.records import UnusedProof
from plimsoll.decide.rollback.relocation import is_recreated
from plimsoll.processes.controller.csi.drivers import KnownDriver, KnownDrivers
from plimsoll.processes.controller.rollback.usage import UsageWatch
from plimsoll.wire.csi import methods
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import pools_pb2 as pools

CREATE_DELETE = "CREATE_DELETE_VOLUME"
PASSING = frozenset({DriverFailure.UNREACHABLE, DriverFailure.UNKNOWN_OUTCOME, DriverFailure.BUSY})


@dataclass(frozen=True, slots=True)
class Unproven:
    why: str
    is_passing: bool = False
    """It may be proven soon, without any change to the volume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prover:
    drivers: KnownDrivers
    usage: UsageWatch

    async def prove(
        self, volume: PersistentVolume, pod: Pod, view: RollbackView
    ) -> UnusedProof | Unproven:
        """The driver's word where it gives one; otherwise that of our own watch."""
        source = volume.spec.csi
        driver = self.drivers.find(source.driver) if source is not None else None
        if source is None or driver is None:
            return Unproven("its driver cannot be reached by this controller", is_passing=True)
        if CREATE_DELETE not in driver.controller:
            return Unproven("its driver deletes no volumes")
        told = await self._ask(driver, source.volume_handle)
        if told is not None:
            return told
        if not is_recreated(pod):
            return Unproven(
                "its driver does not tell, and the owner of the pod does not replace it"
            )
        doubt = self.usage.find_doubt(volume, view.nodes)
        return Unproven(doubt.why) if doubt else UnusedProof.WATCHED

    async def is_silent(self, volume: PersistentVolume) -> bool:
        """Whether its driver is there and cannot tell if a pod has used the volume."""
        source = volume.spec.csi
        driver = self.drivers.find(source.driver) if source is not None else None
        if source is None or driver is None:
            return False
        return await self._ask(driver, source.volume_handle) is None

    async def _ask(self, driver: KnownDriver, volume_id: str) -> UnusedProof | Unproven | None:
        """None: the driver cannot tell."""
        request = pools.GetVolumeUseRequest(volume_id=volume_id)
        try:
            answer = await driver.client.call(methods.GET_VOLUME_USE, request)
        except DriverError as error:
            if error.failure is DriverFailure.UNSUPPORTED:
                return None
            is_passing = error.failure in PASSING
            return Unproven(f"its driver does not tell: {error.detail}", is_passing=is_passing)
        if answer.was_published or answer.in_use:
            return Unproven("it was published to a pod, or is in use")
        return UnusedProof.DRIVER
