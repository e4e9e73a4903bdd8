"""The volumes of pods, in and out: decided step by step, each carried out before the next.

Each step on a device holds its lock, and is decided anew while holding it: another pod may have
staged the device meanwhile, or wait for it.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import assert_never

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.csi.devices import Device
from plimsoll.decide.csi.resizing import resize_finished
from plimsoll.decide.node.desired_volumes import CsiVolume, DesiredVolume, Unready
from plimsoll.decide.node.status import NodeReportReason
from plimsoll.decide.node.teardown import Clean, NodeUnpublish, Unstage, next_teardown, unused
from plimsoll.decide.node.volumes import (
    ExpandOnNode,
    NodePublish,
    NodeStage,
    PrepareVolume,
    Ready,
    VolumeWaitReason,
    Wait,
    find_other_claim,
    next_step,
)
from plimsoll.decide.plan import EventType, Plan
from plimsoll.enact.enactor import Done
from plimsoll.processes.node.directory.protocol import DirectoryError
from plimsoll.processes.node.mounting import MountError, NodeMounting
from plimsoll.processes.node.node_objects import Reports
from plimsoll.processes.node.observation import NodeObservation, pod_event
from plimsoll.processes.node.served_node import ServedNode
from plimsoll.reconcile.loop import Tools
from plimsoll.wire.kind import typed

CLAIMS = typed(PersistentVolumeClaim)
STEPS = 20
"""More than any volume takes; a step that changes nothing must not go round for ever."""
RESIZED, NOT_RESIZED = "FileSystemResizeSuccessful", "FileSystemResizeFailed"


class PodVolumesOnNode:
    def __init__(self, tools: Tools, observation: NodeObservation, reports: Reports) -> None:
        self._tools = tools
        self._observation = observation
        self._reports = reports
        self._mounting = NodeMounting(tools.client)

    async def bring_in(self, served: ServedNode, pod: Pod, wanted: DesiredVolume) -> Wait | Ready:
        """As far as it goes now. Raises MountError."""
        if not isinstance(wanted, CsiVolume):
            return await self._step_by_step(served, pod, wanted)
        async with served.lock(wanted.device):
            return await self._step_by_step(served, pod, wanted)

    async def _step_by_step(
        self, served: ServedNode, pod: Pod, wanted: DesiredVolume
    ) -> Wait | Ready:
        is_current = False
        for _ in range(STEPS):
            node = self._observation.find_node(served.name)
            if node is None:
                break
            now = self._tools.clock.now()
            step = next_step(pod, wanted, self._observation.observed_node(served, node), now)
            if isinstance(step, Wait) and step.why is VolumeWaitReason.ANNOUNCEMENT:
                await self._reports.write(served)
                continue
            if isinstance(step, Wait | Ready):
                return step
            if isinstance(step, ExpandOnNode):
                return Ready(is_grown=await self._expand(served, pod, step))
            if not is_current and (other := await self._find_other_claim(wanted)):
                return other
            is_current = True
            await self._take(served, pod, step)
        raise MountError(f"volume {wanted.name}: no progress")

    async def _find_other_claim(self, wanted: DesiredVolume) -> Wait | None:
        """No cache is asked: once the pod has a volume, it writes to it. Raises KubeError."""
        if isinstance(wanted, Unready) or wanted.claim is None:
            return None
        current = await self._tools.client.find(CLAIMS, wanted.claim.key)
        return find_other_claim(wanted.claim, current)

    async def _take(
        self, served: ServedNode, pod: Pod, step: NodeStage | NodePublish | PrepareVolume
    ) -> None:
        match step:
            case PrepareVolume():
                await self._mounting.prepare(served, pod, step)
            case NodeStage():
                await self._mounting.stage(served, pod, step)
            case NodePublish():
                name = ObjectKey("", step.entry.device.driver)
                about = self._observation.drivers.view().get(name)
                await self._mounting.publish(served, pod, step, about)
            case _:
                assert_never(step)

    async def _expand(self, served: ServedNode, pod: Pod, step: ExpandOnNode) -> bool:
        try:
            await self._mounting.expand(served, step)
        except MountError as error:
            event = pod_event(pod, NOT_RESIZED, str(error))
            await self._tools.enactor.enact(Plan(reason=NodeReportReason.SIZE, writes=(event,)))
            return False
        message = f'MountVolume.NodeExpandVolume succeeded for volume "{step.volume.name}"'
        event = pod_event(pod, RESIZED, message, EventType.NORMAL)
        patch = resize_finished(step.claim, step.volume.capacity)
        outcome = await self._tools.enactor.enact(
            Plan(reason=NodeReportReason.SIZE, writes=(patch, event))
        )
        if isinstance(outcome, Done):
            self._tools.observed.written(outcome.left)
        return isinstance(outcome, Done)

    # Out

    async def tear_down(self, served: ServedNode, uid: str) -> None:
        """Raises MountError."""
        while True:
            match next_teardown(uid, served.directory.actual):
                case NodeUnpublish(entry=entry):
                    async with served.lock(entry.device):
                        await self._mounting.unpublish(served, entry)
                case Clean():
                    break
        try:
            await served.directory.clean(uid)
        except DirectoryError as error:
            raise MountError(f"UnmountVolume.Clean failed : {error}") from error

    async def unstage_unused(
        self, served: ServedNode, among: Collection[Device] | None = None
    ) -> None:
        """All of them, or those among these. Raises MountError."""
        steps = self._unused(served)
        for step in steps:
            device = step.entry.device
            if among is not None and device not in among:
                continue
            async with served.lock(device):
                if step in self._unused(served):
                    await self._mounting.unstage(served, step.entry)

    def _unused(self, served: ServedNode) -> list[Unstage]:
        node = self._observation.find_node(served.name) or Node()
        wanted = self._observation.devices_wanted(served, node)
        return unused(served.directory.actual, wanted)


class NodeHeldVolumes(Collector):
    def __init__(self, nodes: Mapping[str, ServedNode]) -> None:
        self._nodes = nodes

    def collect(self) -> Iterator[GaugeMetricFamily]:
        held = GaugeMetricFamily(
            "plimsoll_node_volumes", "Volumes that drivers hold for nodes.", labels=["state"]
        )
        actuals = [served.directory.actual for served in self._nodes.values()]
        held.add_metric(["staged"], sum(len(actual.staged) for actual in actuals))
        held.add_metric(["published"], sum(len(actual.published) for actual in actuals))
        yield held
