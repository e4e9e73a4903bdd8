"""Plans carried out on the embedded server: in order, conditionally, up to the first obstacle."""

from collections.abc import AsyncIterator
from random import Random

import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document, resources_by_path
from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.apiserver.main import make_server, running
from plimsoll.apiserver.storage.revisions import HistoryLimits
from plimsoll.apiserver.storage.store import MemoryStore
from plimsoll.decide.plan import Create, Delete, Emit, EventType, Patch, Plan, ResourceName
from plimsoll.enact.enactor import Done, Enactor, Obstacle, Overtaken, reference_to
from plimsoll.enact.events import EventRecorder, RecorderSettings
from plimsoll.runtime.clock import SteppedClock
from plimsoll.runtime.ids import seeded_ids
from plimsoll.runtime.metrics import Metrics
from plimsoll.wire.kind import documents
from plimsoll.wire.kube import KubeClient

MAPS = ResourceName("", "v1", "configmaps")
KIND = documents(resources_by_path()["", "v1", "configmaps"])
KEY = ObjectKey("default", "settings")


def a_map(**data: str) -> Document:
    metadata = {"namespace": KEY.namespace, "name": KEY.name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.fixture
async def client() -> AsyncIterator[KubeClient]:
    clock = SteppedClock()
    server = make_server(MemoryStore(), clock, seeded_ids(1), HistoryLimits())
    async with running(server):
        yield KubeClient(InProcessTransport(server), clock=clock, chance=Random(1))


@pytest.fixture
def enactor(client: KubeClient) -> Enactor:
    settings = RecorderSettings(component="test")
    return Enactor(client, EventRecorder(client, settings, ids=seeded_ids(2), metrics=Metrics()))


def plan(*writes: Create | Patch | Delete | Emit) -> Plan:
    return Plan(reason="Test", writes=writes)


async def test_writes_are_made_in_order_and_their_last_state_is_told(
    client: KubeClient, enactor: Enactor
) -> None:
    outcome = await enactor.enact(
        plan(
            Create(resource=MAPS, document=a_map(a="1")),
            Patch(resource=MAPS, key=KEY, patch={"data": {"b": "2"}}),
        )
    )

    assert isinstance(outcome, Done)
    stored = await client.get(KIND, KEY)
    assert stored["data"] == {"a": "1", "b": "2"}
    assert outcome.left == (stored,)


async def test_a_version_means_as_decided_or_as_the_plan_itself_left_it(
    client: KubeClient, enactor: Enactor
) -> None:
    seen = (await client.create(KIND, a_map(a="1")))["metadata"]["resourceVersion"]
    patches = [
        Patch(resource=MAPS, key=KEY, patch={"data": {name: "x"}}, version=seen) for name in "bc"
    ]

    assert isinstance(await enactor.enact(plan(*patches)), Done)
    assert (await client.get(KIND, KEY))["data"] == {"a": "1", "b": "x", "c": "x"}


async def test_a_write_that_another_writer_overtook_ends_the_plan_without_effect(
    client: KubeClient, enactor: Enactor
) -> None:
    seen = (await client.create(KIND, a_map(a="1")))["metadata"]["resourceVersion"]
    await enactor.enact(plan(Patch(resource=MAPS, key=KEY, patch={"data": {"a": "2"}})))

    stale = Patch(resource=MAPS, key=KEY, patch={"data": {"a": "3"}}, version=seen)
    outcome = await enactor.enact(plan(stale, Delete(resource=MAPS, key=KEY)))

    assert isinstance(outcome, Overtaken)
    assert outcome.write == stale
    assert (await client.get(KIND, KEY))["data"] == {"a": "2"}


async def test_a_patch_for_a_namesake_changes_nothing(client: KubeClient, enactor: Enactor) -> None:
    await client.create(KIND, a_map(a="1"))
    other = Patch(resource=MAPS, key=KEY, patch={"data": {"a": "2"}}, uid="of-another-object")

    assert not isinstance(await enactor.enact(plan(other)), Done)
    assert (await client.get(KIND, KEY))["data"] == {"a": "1"}


async def test_what_is_gone_already_counts_as_deleted(enactor: Enactor) -> None:
    assert isinstance(await enactor.enact(plan(Delete(resource=MAPS, key=KEY))), Done)


async def test_a_refused_write_is_an_obstacle_with_its_reason(enactor: Enactor) -> None:
    wrong = a_map() | {"data": {"not a key": "x"}}

    outcome = await enactor.enact(plan(Create(resource=MAPS, document=wrong)))

    assert isinstance(outcome, Obstacle)
    assert outcome.error.causes[0]["field"] == "data[not a key]"


async def test_events_need_no_answer(client: KubeClient, enactor: Enactor) -> None:
    made = await client.create(KIND, a_map(a="1"))
    event = Emit(regarding=made, type=EventType.NORMAL, reason="Seen", message="It was seen.")

    assert await enactor.enact(plan(event)) == Done()


def test_a_reference_names_the_very_object() -> None:
    document = a_map() | {"metadata": {"namespace": "a", "name": "b", "uid": "u"}}

    reference = reference_to(document)

    assert (reference.kind, reference.key, reference.uid) == ("ConfigMap", ObjectKey("a", "b"), "u")
