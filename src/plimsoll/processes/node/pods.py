"""The life of a pod on a node: taken or rejected, volumes in, running, volumes out, gone.

The queue carries a node and a pod's uid: a pod that is gone from the server, and a new one of the
same name, are two. What an earlier process left in the directory is handled first.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import TypeVar

from plimsoll.api.core import Node
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import VolumeAttachment
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.store import StoreChange
from plimsoll.decide.claims.protection import is_shut_down
from plimsoll.decide.node.admission import find_rejection, is_taken
from plimsoll.decide.node.status import (
    FOREVER,
    RUN_FOR,
    NodeReportReason,
    PodAddresses,
    PodPhase,
    ended,
    free_address,
    gone,
    rejected,
    running,
    started,
    time_left,
    usual_run_time,
)
from plimsoll.decide.node.volumes import ATTACH_DEADLINE, Ready, Wait
from plimsoll.decide.plan import Emit, Plan, Write
from plimsoll.enact.enactor import Done
from plimsoll.processes.node.mounting import MountError
from plimsoll.processes.node.node_objects import Reports
from plimsoll.processes.node.observation import (
    CLAIMS_BY_VOLUME,
    NodeObservation,
    pod_event,
)
from plimsoll.processes.node.pod_volumes import NodeHeldVolumes, PodVolumesOnNode
from plimsoll.processes.node.served_node import ServedNode
from plimsoll.reconcile.indexes import PODS_BY_CLAIM
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.config import parse_duration
from plimsoll.runtime.workqueue import WorkQueue

log = logging.getLogger(__name__)

T = TypeVar("T", bound=ApiObject)

MOUNT_BACKOFF = Backoff(first=timedelta(milliseconds=500), limit=timedelta(minutes=2))
LOOK_AGAIN = timedelta(minutes=1)
FAILED_MOUNT, FAILED_UNMOUNT = "FailedMount", "FailedUnMount"
LEFTOVERS = ""
"""Stands for devices that are staged for no pod; no pod has such a uid."""


class Pods(Loop):
    name = "pods"
    workers = 32

    def __init__(
        self,
        tools: Tools,
        nodes: Mapping[str, ServedNode],
        observation: NodeObservation,
        reports: Reports,
    ) -> None:
        super().__init__(tools)
        self.queue = WorkQueue(tools.clock, tools.chance, MOUNT_BACKOFF)
        self._nodes = nodes
        self._observation = observation
        self._reports = reports
        self._volumes = PodVolumesOnNode(tools, observation, reports)
        self._settled: set[str] = set()
        """Pods, by uid, that run with all their volumes: they wait for nothing."""
        self._rejected = tools.metrics.counter(
            "plimsoll_node_pods_rejected_total", "Pods that a node did not take.", ["reason"]
        )
        tools.metrics.registry.register(NodeHeldVolumes(nodes))
        observation.pods.on_change(self._pod_changed)
        observation.claims.on_change(self._claim_changed)
        observation.volumes.on_change(self._volume_changed)
        observation.attachments.on_change(self._attachment_changed)
        observation.nodes.on_change(self._node_changed)
        observation.drivers.on_change(self._driver_changed)
        for served in nodes.values():
            served.wakers.append(self._waker(served))

    async def run(self) -> None:
        for served in self._nodes.values():
            pods = self._observation.pods_of(served.name)
            await served.directory.recall({p.uid for p in pods if _is_running(p)})
            for uid in (*sorted(served.directory.pods), *(pod.uid for pod in pods), LEFTOVERS):
                self.queue.add(ObjectKey(served.name, uid))
        await super().run()

    # Who has to be looked at

    def _pod_changed(self, change: StoreChange[Pod]) -> None:
        for pod in (change.before, change.after):
            if pod is not None and pod.spec.node_name in self._nodes:
                self.queue.add(ObjectKey(pod.spec.node_name, pod.uid))

    def _claim_changed(self, change: StoreChange[PersistentVolumeClaim]) -> None:
        self._add(self._observation.pods.view().by(PODS_BY_CLAIM, str(change.key)).values())

    def _volume_changed(self, change: StoreChange[PersistentVolume]) -> None:
        claims = self._observation.claims.view().by(CLAIMS_BY_VOLUME, change.key.name)
        for key in claims:
            self._add(self._observation.pods.view().by(PODS_BY_CLAIM, str(key)).values())

    def _attachment_changed(self, change: StoreChange[VolumeAttachment]) -> None:
        for attachment in (change.before, change.after):
            if attachment is not None and attachment.spec.node_name in self._nodes:
                self._add_unsettled(self._nodes[attachment.spec.node_name])

    def _node_changed(self, change: StoreChange[Node]) -> None:
        if change.key.name in self._nodes and _essence(change.before) != _essence(change.after):
            self._add_unsettled(self._nodes[change.key.name])

    def _driver_changed(self, change: StoreChange[T]) -> None:  # noqa: ARG002 - which one hardly matters
        for served in self._nodes.values():
            self._add_unsettled(served)

    def _waker(self, served: ServedNode) -> Callable[[], None]:
        return lambda: self._add_unsettled(served)

    def _add(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            if pod.spec.node_name in self._nodes:
                self.queue.add(ObjectKey(pod.spec.node_name, pod.uid))

    def _add_unsettled(self, served: ServedNode) -> None:
        """Those that may be waiting for something."""
        pods = self._observation.pods_of(served.name)
        self._add(pod for pod in pods if pod.uid not in self._settled)
        unknown = sorted(served.directory.pods - {pod.uid for pod in pods})
        for uid in (*unknown, *([LEFTOVERS] if served.directory.actual.staged else ())):
            self.queue.add(ObjectKey(served.name, uid))

    # One pod

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        served = self._nodes[key.namespace]
        self._settled.discard(key.name)
        pod = self._observation.find_pod(key.name)
        node = self._observation.find_node(served.name)
        try:
            if key.name == LEFTOVERS:
                await self._volumes.unstage_unused(served)
                await self._reports.write(served)
                self.queue.forget(key)
            elif pod is None or pod.is_being_deleted or pod.is_finished:
                await self._end(served, key.name, pod)
            elif node is None:
                return LOOK_AGAIN
            else:
                return await self._serve(served, node, pod)
        except MountError as error:
            await self._complain(key, pod, str(error))
            self.queue.add_rate_limited(key)
        return None

    async def _complain(self, key: ObjectKey, pod: Pod | None, message: str) -> None:
        facts = {"node": key.namespace, "pod": str(pod.key) if pod else key.name}
        log.warning("step failed", extra=facts | {"error": message})
        if pod is not None:
            reason = FAILED_UNMOUNT if message.startswith("Unmount") else FAILED_MOUNT
            await self._tell(pod_event(pod, reason, message))

    async def _tell(self, *events: Emit) -> None:
        await self.tools.enactor.enact(Plan(reason=NodeReportReason.POD, writes=events))

    async def _write(self, pod: Pod, *writes: Write) -> bool:
        plan = Plan(reason=NodeReportReason.POD, writes=writes)
        key = ObjectKey(pod.spec.node_name, pod.uid)
        return isinstance(await self.enact(key, plan), Done)

    # In

    async def _serve(self, served: ServedNode, node: Node, pod: Pod) -> timedelta | None:
        now = self.tools.clock.now()
        if not is_taken(pod):
            return await self._admit(served, node, pod)
        key = ObjectKey(served.name, pod.uid)
        waits: list[Wait] = []
        failed, all_grown = False, True
        for wanted in self._observation.wanted(pod, node):
            try:
                step = await self._volumes.bring_in(served, pod, wanted)
            except MountError as error:
                failed = True
                await self._complain(key, pod, str(error))
                continue
            match step:
                case Wait():
                    waits.append(step)
                case Ready(is_grown=is_grown):
                    all_grown &= is_grown
        if failed or waits:
            return await self._wait(key, pod, waits, failed=failed)
        if not _is_running(pod) or not pod.is_ready:
            # The second after this node was silent: the controller has marked its pods.
            await self._write(pod, running(pod, self._addresses(served, pod), now))
            return None
        if not all_grown:
            self.queue.add_rate_limited(key)
        self._settled.add(pod.uid)
        return await self._run_on(pod)

    def _addresses(self, served: ServedNode, pod: Pod) -> PodAddresses:
        host_ip = served.machine.address
        if pod.spec.host_network:
            return PodAddresses(host_ip=host_ip, pod_ip=host_ip)
        others = (o for o in self._observation.pods_of(served.name) if o.uid != pod.uid)
        used = {other.status.pod_ip for other in others} | set(served.addresses.values())
        given = served.addresses.get(pod.uid) or pod.status.pod_ip
        if not given:
            given = served.addresses[pod.uid] = free_address(served.network, used)
        return PodAddresses(host_ip=host_ip, pod_ip=given)

    async def _admit(self, served: ServedNode, node: Node, pod: Pod) -> timedelta | None:
        if not node.status.allocatable:
            return LOOK_AGAIN  # our own status is about to be written; the watch will tell
        now = self.tools.clock.now()
        async with served.admission:
            others = [o for o in self._observation.staying(served.name) if is_taken(o)]
            rejection = find_rejection(pod, node, others)
            if rejection is None:
                await self._write(
                    pod, started(pod, PodAddresses(host_ip=served.machine.address), now)
                )
                return None
        event = pod_event(pod, rejection.reason, rejection.message)
        if await self._write(pod, rejected(pod, rejection, now), event):
            self._rejected.labels(rejection.reason).inc()
        return None

    async def _wait(
        self, key: ObjectKey, pod: Pod, waits: list[Wait], *, failed: bool
    ) -> timedelta | None:
        events = [pod_event(pod, FAILED_MOUNT, wait.message) for wait in waits if wait.is_news]
        await self._tell(*events)
        if failed:
            self.queue.add_rate_limited(key)
            return None
        return LOOK_AGAIN if events else ATTACH_DEADLINE

    async def _run_on(self, pod: Pod) -> timedelta | None:
        run_for = _run_for(pod)
        if run_for is None:
            return None
        now = self.tools.clock.now()
        left = time_left(pod, run_for, now)
        if left > timedelta():
            return left
        await self._write(pod, ended(pod, PodPhase.SUCCEEDED, now))
        return None

    # Out

    async def _end(self, served: ServedNode, uid: str, pod: Pod | None) -> None:
        """Undo everything, then let the pod go. Whatever fails is tried again."""
        devices = {entry.device for entry in served.directory.actual.of_pod(uid)}
        await self._volumes.tear_down(served, uid)
        try:
            await self._volumes.unstage_unused(served, devices)
        except MountError as error:
            # The pod is done with it; the node is not, and goes on reporting it as in use.
            await self._complain(ObjectKey(served.name, uid), pod, str(error))
            self.queue.add_rate_limited(ObjectKey(served.name, LEFTOVERS))
        served.addresses.pop(uid, None)
        await self._reports.write(served)
        if pod is None or not pod.is_being_deleted or is_shut_down(pod):
            self.queue.forget(ObjectKey(served.name, uid))
            return
        writes: list[Write] = []
        if pod.metadata.finalizers and not pod.is_finished:
            # The object stays for a while: its status tells observers that the pod has ended.
            writes.append(ended(pod, PodPhase.FAILED, self.tools.clock.now()))
        await self._write(pod, *writes, gone(pod))


def _is_running(pod: Pod) -> bool:
    return pod.status.phase == PodPhase.RUNNING


def _essence(node: Node | None) -> tuple[object, ...]:
    """Of a node, what pods may be waiting for."""
    if node is None:
        return ()
    return node.labels, node.status.volumes_attached, node.status.allocatable


def _run_for(pod: Pod) -> timedelta | None:
    """None: until it is deleted."""
    text = pod.annotations.get(RUN_FOR)
    if text is None:
        return usual_run_time(pod)
    if text == FOREVER:
        return None
    try:
        return parse_duration(text)
    except ValueError as error:
        log.warning("annotation unreadable", extra={"pod": str(pod.key), "error": str(error)})
        return None
