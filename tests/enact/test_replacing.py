"""Objects that may be replaced, but not patched."""

from collections.abc import AsyncIterator
from random import Random

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document, resources_by_path
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.apiserver.main import make_server, running
from plimsoll.apiserver.storage.revisions import HistoryLimits
from plimsoll.apiserver.storage.store import MemoryStore
from plimsoll.decide.plan import Patch, Plan, ResourceName
from plimsoll.enact.enactor import Done, Enactor, Overtaken
from plimsoll.enact.events import EventRecorder, RecorderSettings
from plimsoll.runtime.clock import SteppedClock
from plimsoll.runtime.ids import seeded_ids
from plimsoll.runtime.metrics import Metrics
from plimsoll.wire.errors import Failure
from plimsoll.wire.kind import documents
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.transport import Request, Response

MAPS = ResourceName("", "v1", "configmaps")
KIND = documents(resources_by_path()["", "v1", "configmaps"])
KEY = ObjectKey("default", "settings")


class Recording(InProcessTransport):
    """Remembers by which method it was written."""

    methods: list[str]

    async def request(self, request: Request) -> Response:
        if not request.is_read:
            self.methods.append(request.method)
        return await super().request(request)


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    clock = SteppedClock()
    server = make_server(MemoryStore(), clock, seeded_ids(1), HistoryLimits())
    async with running(server):
        transport = Recording(server)
        transport.methods = []
        yield KubeClient(transport, clock=clock, chance=Random(1))


def enactor(client: KubeClient) -> Enactor:
    recorder = EventRecorder(
        client, RecorderSettings(component="test"), ids=seeded_ids(2), metrics=Metrics()
    )
    return Enactor(client, recorder, unpatchable=(MAPS,))


async def stored(client: KubeClient) -> Document:
    metadata = {
        "namespace": KEY.namespace,
        "name": KEY.name,
        "annotations": {"kept": "yes", "gone": "soon"},
    }
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}}
    return await client.create(KIND, document)


def plan(**conditions: str) -> Plan:
    patch = {"metadata": {"annotations": {"gone": None}}, "data": {"b": "2"}}
    return Plan(reason="Test", writes=(Patch(resource=MAPS, key=KEY, patch=patch, **conditions),))


async def test_only_what_the_patch_says_is_changed(client: KubeClient) -> None:
    before = await stored(client)
    conditions = {
        "version": before["metadata"]["resourceVersion"],
        "uid": before["metadata"]["uid"],
    }
    outcome = await enactor(client).enact(plan(**conditions))
    after = await client.get(KIND, KEY)
    assert outcome == Done((after,))
    assert after["data"] == {"a": "1", "b": "2"}
    assert after["metadata"]["annotations"] == {"kept": "yes"}
    transport = client._transport  # noqa: SLF001 - to see what was sent
    assert isinstance(transport, Recording)
    assert transport.methods == ["POST", "PUT"]


@pytest.mark.parametrize("condition", ["version", "uid"])
async def test_what_is_not_as_it_was_seen_is_left_alone(client: KubeClient, condition: str) -> None:
    before = await stored(client)
    outcome = await enactor(client).enact(plan(**{condition: "1"}))
    assert isinstance(outcome, Overtaken)
    assert outcome.error.failure is Failure.CONFLICT
    assert await client.get(KIND, KEY) == before


async def test_what_is_gone_counts_as_overtaken(client: KubeClient) -> None:
    outcome = await enactor(client).enact(plan())
    assert isinstance(outcome, Overtaken)
    assert outcome.error.failure is Failure.NOT_FOUND
