"""The processes put together just far enough to ask them what they are made of; nothing runs."""

from datetime import timedelta
from random import Random

from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.apiserver.main import limits_for, make_server
from plimsoll.apiserver.server import ApiServer
from plimsoll.apiserver.storage.store import MemoryStore
from plimsoll.enact.enactor import Enactor
from plimsoll.enact.events import EventRecorder, RecorderSettings
from plimsoll.processes.controller.settings import COMPONENT
from plimsoll.reconcile.loop import Tools
from plimsoll.reconcile.observed import Observed
from plimsoll.runtime.clock import SteppedClock
from plimsoll.runtime.ids import seeded_ids
from plimsoll.runtime.leading.fence import Fence
from plimsoll.runtime.metrics import Metrics
from plimsoll.wire.kube import KubeClient

HISTORY = timedelta(minutes=5)


def api_server() -> ApiServer:
    return make_server(MemoryStore(), SteppedClock(), seeded_ids(0), limits_for(HISTORY))


def client() -> KubeClient:
    """Of an empty embedded server."""
    return KubeClient(InProcessTransport(api_server()), clock=SteppedClock(), chance=Random(0))


def controller_tools() -> Tools:
    kube, ids, metrics = client(), seeded_ids(0), Metrics()
    events = EventRecorder(kube, RecorderSettings(component=COMPONENT), ids=ids, metrics=metrics)
    return Tools(
        client=kube,
        observed=Observed(kube),
        enactor=Enactor(kube, events),
        clock=kube.clock,
        ids=ids,
        chance=kube.chance,
        metrics=metrics,
        fence=Fence.left_open(kube.clock),
    )
