"""A complete scheduler: pods that name it get nodes, and the volumes that they need there.

    python -m examples.tiny_scheduler [KUBECONFIG]

Everything that matters is decided by the library; this program watches, and writes down what was
decided. There is no queue: whenever something changes, every waiting pod is tried again.
"""

import asyncio
import logging
import sys
from typing import Any

from msgspec.structs import replace

from plimsoll.api.core import Namespace, Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.informer import Informer
from plimsoll.cache.store import Store, StoreChange
from plimsoll.decide.plan import Plan
from plimsoll.decide.scheduling.binding.bind_volumes import choose
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel, NoNode
from plimsoll.enact.enactor import Enactor
from plimsoll.enact.events import EventRecorder, RecorderSettings
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.config import environment
from plimsoll.runtime.ids import system_chance, system_ids
from plimsoll.runtime.metrics import Metrics
from plimsoll.wire.connect import connect
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment

log = logging.getLogger("tiny-scheduler")

CLUSTER_KINDS = (Node, Namespace, Pod)
VOLUME_KINDS = (PersistentVolume, PersistentVolumeClaim, StorageClass)
CSI_KINDS = (CSINode, CSIDriver, CSIStorageCapacity)


class TinyScheduler:
    def __init__(self, client: KubeClient, name: str = "tiny") -> None:
        self.client, self.name = client, name
        events = RecorderSettings(component=name)
        recorder = EventRecorder(client, events, ids=system_ids(), metrics=Metrics())
        self.enactor = Enactor(client, recorder)
        self.kernel = Kernel(Columns())
        self.waiting: dict[ObjectKey, Pod] = {}
        self.changed = asyncio.Event()

    def observe(self, change: StoreChange[Any]) -> None:
        if change.after is not None:
            self.kernel.columns.put(change.after)
        elif change.before is not None:
            self.kernel.columns.remove(change.before)
        if isinstance(change.after or change.before, Pod):
            self.waiting.pop(change.key, None)
        match change.after:
            case Pod(spec=spec) as pod if (spec.scheduler_name, spec.node_name) == (self.name, ""):
                self.waiting[change.key] = pod
        self.changed.set()

    async def run(self) -> None:
        informers = [self.informer(kind) for kind in (*CLUSTER_KINDS, *VOLUME_KINDS, *CSI_KINDS)]
        async with asyncio.TaskGroup() as group:
            for informer in informers:
                group.create_task(informer.run())
            for informer in informers:
                await informer.wait_synced()
            while await self.changed.wait():
                self.changed.clear()
                for pod in sorted(self.waiting.values(), key=lambda pod: (-pod.priority, pod.key)):
                    await self.schedule(pod)

    def informer(self, kind: Any) -> Informer[Any]:
        informer = Informer(self.client, typed(kind), Store())
        informer.on_change(self.observe)
        return informer

    async def schedule(self, pod: Pod) -> None:
        decision = self.kernel.decide(pod)
        if isinstance(decision, NoNode):
            log.info("%s: %s", pod.key, decision.message)
            return
        # What is written for its volumes has an effect, and then the pod comes round again.
        if writes := choose(decision.volumes, decision.node).writes:
            await self.enactor.enact(Plan(reason="VolumesChosen", writes=writes))
            return
        try:
            await self.client.bind(pod.key, decision.node, uid=pod.uid)
        except KubeError as error:
            log.warning("%s: %s", pod.key, error)
            return
        # The next decision must know of this one, even if the watch is slower.
        placed = replace(pod, spec=replace(pod.spec, node_name=decision.node))
        self.kernel.columns.put(placed)
        self.waiting.pop(pod.key, None)


async def main(kubeconfig: str) -> None:
    around = KubeconfigEnvironment(environment=environment(), clock=SystemClock())
    client = connect(
        ConnectionOptions(kubeconfig=kubeconfig), around, system_chance(), manager="tiny-scheduler"
    )
    await TinyScheduler(client).run()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    asyncio.run(main(*sys.argv[1:2] or [""]))
