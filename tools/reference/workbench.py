"""The processes put together just far enough to ask them what they are made of; nothing runs."""

from datetime import timedelta
from random import Random

from plimsoll.enact.enactor import Enactor
from plimsoll.enact.events import EventRecorder, RecorderSettings
from plimsoll.processes.apiserver.inprocess import InProcessTransport
from plimsoll.processes.apiserver.main import limits_for, make_server
from plimsoll.processes.apiserver.server import ApiServer
from plimsoll.processes.apiserver.store import MemoryStore
from plimsoll.processes.controller.loop import Tools
from plimsoll.processes.controller.observed import Observed
from plimsoll.runtime.clock import SteppedClock
from plimsoll.runtime.ids import seeded_ids
from plimsoll.runtime.metrics import Metrics
from plimsoll.wire.kube import KubeClient

HISTORY = timedelta(minutes=5)


def api_server() -> ApiServer:
    limits = limits_for(HISTORY)
    return make_server(MemoryStore(), SteppedClock(), seeded_ids(0), limits)


def controller_tools() -> Tools:
    """Of a controller beside an empty embedded server."""
    clock, ids, chance, metrics = SteppedClock(), seeded_ids(0), Random(0), Metrics()
    client = KubeClient(InProcessTransport(api_server()), clock=clock, chance=chance)
    settings = RecorderSettings(component="plimsoll-controller")
    return Tools(
        client=client,
        observed=Observed(client),
        enactor=Enactor(client, EventRecorder(client, settings, ids=ids, metrics=metrics)),
        clock=clock,
        ids=ids,
        chance=chance,
        metrics=metrics,
    )
