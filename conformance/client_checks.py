"""Our client, cache, leader election and events on a real API server.

Each `check_…` takes a kubeconfig, works in a namespace of its own and raises AssertionError when
the server and we do not understand each other. They say nothing about which server it is.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from conformance.flaky_line import FlakyLine
from plimsoll.api.core import ConfigMap, Event, Lease, Namespace
from plimsoll.api.meta import ObjectKey, ObjectReference
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document, resources_by_path
from plimsoll.cache.assume import AssumingStore
from plimsoll.cache.informer import Informer, InformerSettings
from plimsoll.cache.store import Sink, Store
from plimsoll.enact.events import EventRecorder, RecorderSettings
from plimsoll.enact.lease_store import KubeLeaseStore
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.ids import system_chance, system_ids
from plimsoll.runtime.leading.leader import Election, ElectionSettings
from plimsoll.runtime.metrics import Metrics
from plimsoll.simulator.engine.severed import Lifeline, SeverableTransport
from plimsoll.wire.access import Access
from plimsoll.wire.credentials import FixedCredentials, Identity, bearer
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.http import HttpTransport
from plimsoll.wire.kind import Bookmark, DeletedObject, Upserted, documents, typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment, find_access
from plimsoll.wire.parameters import (
    Deletion,
    Paging,
    Selection,
    WatchFrom,
    WriteOptions,
    json_patch,
    merge_patch,
    strategic_patch,
)
from plimsoll.wire.transport import Transport

CLOCK = SystemClock()
CONFIG_MAPS = typed(ConfigMap)
RAW_CONFIG_MAPS = documents(resources_by_path()["", "v1", "configmaps"])
PODS = documents(resources_by_path()["", "v1", "pods"])
TIME_LIMIT = timedelta(seconds=20)
IMPATIENT = InformerSettings(
    page_size=3,
    watch_timeout=timedelta(seconds=30),
    backoff=Backoff(first=timedelta(milliseconds=50), limit=timedelta(seconds=1)),
)
QUICK = ElectionSettings(
    identity="first",
    lease_duration=timedelta(seconds=3),
    renew_deadline=timedelta(seconds=2),
    retry_period=timedelta(milliseconds=300),
)


def access(kubeconfig: Path) -> Access:
    around = KubeconfigEnvironment(environment={}, clock=CLOCK)
    return find_access(ConnectionOptions(kubeconfig=str(kubeconfig)), around)


def client_over(transport: Transport) -> KubeClient:
    return KubeClient(transport, clock=CLOCK, chance=system_chance(), manager="plimsoll-check")


@contextlib.asynccontextmanager
async def connected(kubeconfig: Path) -> AsyncIterator[tuple[KubeClient, str]]:
    """A client, and a fresh namespace that is removed afterwards."""
    async with HttpTransport(access(kubeconfig)) as transport:
        client = client_over(transport)
        name = f"check-{system_ids().suffix(8)}"
        await client.create(typed(Namespace), {"metadata": {"name": name}})
        try:
            yield client, name
        finally:
            await client.delete(typed(Namespace), ObjectKey("", name))


@contextlib.asynccontextmanager
async def running(*loops: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """The loops run as long as the block; what goes wrong in them goes wrong here."""
    tasks = [asyncio.ensure_future(loop()) for loop in loops]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome


async def eventually(condition: Callable[[], bool], what: str) -> None:
    deadline = CLOCK.monotonic() + TIME_LIMIT.total_seconds()
    while not condition():
        assert CLOCK.monotonic() < deadline, f"not seen in time: {what}"
        await CLOCK.sleep(timedelta(milliseconds=20))


def config_map(namespace: str, name: str, **data: str) -> Document:
    return {"metadata": {"namespace": namespace, "name": name}, "data": data}


async def failure(work: Awaitable[object]) -> Failure:
    try:
        await work
    except KubeError as error:
        return error.failure
    raise AssertionError("the server should have refused")


async def check_objects_are_created_read_changed_and_deleted(kubeconfig: Path) -> None:
    async with connected(kubeconfig) as (client, ns):
        key = ObjectKey(ns, "settings")
        made = await client.create(CONFIG_MAPS, config_map(ns, "settings", a="1"))
        assert (await client.get(CONFIG_MAPS, key)).uid == made.uid
        await client.patch(RAW_CONFIG_MAPS, key, merge_patch({"data": {"a": None, "b": "2"}}))
        await client.patch(RAW_CONFIG_MAPS, key, strategic_patch({"data": {"c": "3"}}))
        operations = [{"op": "add", "path": "/data/d", "value": "4"}]
        patched = await client.patch(RAW_CONFIG_MAPS, key, json_patch(operations))
        assert patched["data"] == {"b": "2", "c": "3", "d": "4"}
        patched["data"] = {"e": "5"}
        replaced = await client.update(RAW_CONFIG_MAPS, patched)
        assert replaced["data"] == {"e": "5"}
        await client.delete(CONFIG_MAPS, key)
        assert await client.find(CONFIG_MAPS, key) is None


async def check_refusals_say_what_may_happen_next(kubeconfig: Path) -> None:
    async with connected(kubeconfig) as (client, ns):
        key, other = ObjectKey(ns, "settings"), ObjectKey(ns, "other")
        document = config_map(ns, "settings")
        made = await client.create(RAW_CONFIG_MAPS, document)
        assert await failure(client.create(CONFIG_MAPS, document)) is Failure.ALREADY_EXISTS
        assert await failure(client.get(CONFIG_MAPS, other)) is Failure.NOT_FOUND
        await client.update(RAW_CONFIG_MAPS, {**made, "data": {"a": "1"}})
        stale = client.update(RAW_CONFIG_MAPS, {**made, "data": {"a": "2"}})
        assert await failure(stale) is Failure.CONFLICT
        wrong_uid = client.delete(CONFIG_MAPS, key, Deletion(uid="somebody-else"))
        assert await failure(wrong_uid) is Failure.CONFLICT
        bad_name = client.create(CONFIG_MAPS, config_map(ns, "Not A Name"))
        assert await failure(bad_name) is Failure.INVALID
        malformed = client.patch(CONFIG_MAPS, key, json_patch([{"op": "dance", "path": "/"}]))
        assert await failure(malformed) in (Failure.BAD_REQUEST, Failure.INVALID)
        rehearsal = WriteOptions(is_rehearsal=True)
        await client.create(CONFIG_MAPS, config_map(ns, "other"), rehearsal)
        assert await client.find(CONFIG_MAPS, other) is None


async def check_a_stranger_is_not_let_in(kubeconfig: Path) -> None:
    stranger = FixedCredentials(Identity(authorization=bearer("not-a-token")))
    async with HttpTransport(replace(access(kubeconfig), credentials=stranger)) as transport:
        asked = client_over(transport).list(CONFIG_MAPS)
        assert await failure(asked) is Failure.UNAUTHORIZED


async def check_lists_come_in_pages_and_by_selection(kubeconfig: Path) -> None:
    async with connected(kubeconfig) as (client, ns):
        for number in range(7):
            document = config_map(ns, f"cm-{number}")
            document["metadata"]["labels"] = {"parity": "odd" if number % 2 else "even"}
            await client.create(CONFIG_MAPS, document)
        page = await client.list_page(CONFIG_MAPS, Selection(namespace=ns), Paging(limit=3))
        assert len(page.items) == 3
        assert page.continue_
        rest = await client.list_page(
            CONFIG_MAPS, Selection(namespace=ns), Paging(limit=100, continue_=page.continue_)
        )
        names = [item.name for item in page.items + rest.items if item.name.startswith("cm-")]
        assert names == [f"cm-{number}" for number in range(7)]
        odd = Selection(namespace=ns, labels="parity=odd")
        assert len((await client.list(CONFIG_MAPS, odd)).items) == 3
        named = Selection(namespace=ns, fields="metadata.name=cm-4")
        assert [i.name for i in (await client.list(CONFIG_MAPS, named)).items] == ["cm-4"]
        await client.delete_collection(CONFIG_MAPS, odd)
        assert (await client.list(CONFIG_MAPS, odd)).items == ()


async def check_a_watch_tells_everything_from_its_beginning(kubeconfig: Path) -> None:
    async with connected(kubeconfig) as (client, ns):
        here = Selection(namespace=ns, labels="watched=yes")
        began = (await client.list(CONFIG_MAPS, here)).resource_version
        document = config_map(ns, "seen")
        document["metadata"]["labels"] = {"watched": "yes"}
        key = ObjectKey(ns, "seen")
        await client.create(CONFIG_MAPS, document)
        await client.patch(CONFIG_MAPS, key, merge_patch({"data": {"a": "1"}}))
        await client.delete(CONFIG_MAPS, key)
        start = WatchFrom(resource_version=began, timeout=timedelta(seconds=5))
        seen: list[type[object]] = []
        async with client.watch(CONFIG_MAPS, start, here) as events:
            seen += [type(event) async for event in events if not isinstance(event, Bookmark)]
        assert seen == [Upserted, Upserted, DeletedObject], seen


async def check_an_informer_follows_with_a_list(kubeconfig: Path) -> None:
    await _follow(kubeconfig, IMPATIENT)


async def check_an_informer_follows_with_initial_events(kubeconfig: Path) -> None:
    await _follow(kubeconfig, replace(IMPATIENT, streams_initial_state=True))


async def _follow(kubeconfig: Path, settings: InformerSettings) -> None:
    async with connected(kubeconfig) as (client, ns):
        for number in range(8):
            await client.create(CONFIG_MAPS, config_map(ns, f"before-{number}"))
        store: Store[ConfigMap] = Store()
        informer = _informer(client, ns, store, settings)
        async with running(informer.run):
            await asyncio.wait_for(informer.wait_synced(), TIME_LIMIT.total_seconds())
            await _churn(client, ns)
            await _equals_the_server(client, ns, store)


def _informer(
    client: KubeClient, ns: str, sink: Sink[ConfigMap], settings: InformerSettings = IMPATIENT
) -> Informer[ConfigMap]:
    selection = Selection(namespace=ns)
    return Informer(client, CONFIG_MAPS, sink, selection=selection, settings=settings)


async def _churn(client: KubeClient, ns: str, turns: int = 30) -> None:
    for number in range(turns):
        key = ObjectKey(ns, f"cm-{number}")
        await client.create(CONFIG_MAPS, config_map(ns, key.name))
        if number % 2:
            await client.patch(CONFIG_MAPS, key, merge_patch({"data": {"a": str(number)}}))
        if number % 3 == 0:
            await client.delete(CONFIG_MAPS, key)


async def _equals_the_server(client: KubeClient, ns: str, store: Store[ConfigMap]) -> None:
    truth = {
        item.key: item for item in (await client.list(CONFIG_MAPS, Selection(namespace=ns))).items
    }
    await eventually(
        lambda: dict(store.snapshot().objects) == truth, "a copy of the server's state"
    )


async def check_an_informer_survives_a_bad_network(kubeconfig: Path) -> None:
    to = access(kubeconfig)
    line = FlakyLine(urlsplit(to.server).port or 443)
    async with connected(kubeconfig) as (client, ns), line.open():
        through = replace(to, server=f"https://127.0.0.1:{line.port}")
        async with HttpTransport(through) as transport:
            store: Store[ConfigMap] = Store()
            informer = _informer(client_over(transport), ns, store)
            async with running(informer.run):
                for _ in range(4):
                    await _churn(client, ns, turns=5)
                    line.drop()
                    await client.delete_collection(CONFIG_MAPS, Selection(namespace=ns))
                await _churn(client, ns, turns=5)
                await _equals_the_server(client, ns, store)
        assert line.accepted > 2


async def check_our_own_writes_are_seen_at_once_and_then_confirmed(kubeconfig: Path) -> None:
    async with connected(kubeconfig) as (client, ns):
        store: AssumingStore[ConfigMap] = AssumingStore()
        informer = _informer(client, ns, store)
        async with running(informer.run):
            await asyncio.wait_for(informer.wait_synced(), TIME_LIMIT.total_seconds())
            made = await client.create(CONFIG_MAPS, config_map(ns, "ours"))
            store.written(made, deadline=CLOCK.monotonic() + 60)
            assert store.snapshot().get(made.key) == made
            await eventually(lambda: not store.assumed, "the confirmation of our write")
            assert store.observed().get(made.key) == made


async def check_a_pod_is_bound_once(kubeconfig: Path) -> None:
    async with connected(kubeconfig) as (client, ns):
        container = {"name": "c", "image": "none"}
        pod = await client.create(
            PODS,
            {"metadata": {"namespace": ns, "name": "p"}, "spec": {"containers": [container]}},
        )
        key = ObjectKey(ns, "p")
        await client.bind(key, "some-node", uid=pod["metadata"]["uid"])
        assert (await client.get(typed(Pod), key)).spec.node_name == "some-node"
        assert await failure(client.bind(key, "another-node")) is Failure.CONFLICT
        # No kubelet runs on that node that would end the pod in peace.
        await client.delete(PODS, key, Deletion(grace_period_seconds=0))


async def check_leadership_passes_on(kubeconfig: Path) -> None:
    async with connected(kubeconfig) as (client, ns):
        key = ObjectKey(ns, "leader")
        lifeline = Lifeline()
        async with HttpTransport(access(kubeconfig)) as transport:
            mortal = client_over(SeverableTransport(transport, lifeline))
            first = _candidate(mortal, key, "first")
            second = _candidate(client, key, "second")
            third = _candidate(client, key, "third")
            async with running(lambda: second.run(_for_ever)):
                async with running(lambda: first.run(_for_ever)):
                    await eventually(lambda: first.is_leader or second.is_leader, "a leader")
                    await CLOCK.sleep(QUICK.lease_duration * 1.5)
                    assert first.is_leader != second.is_leader
                    was_first = first.is_leader
                    lifeline.cut()  # the first one dies, leading or not
                await eventually(lambda: second.is_leader, "the takeover of a dead leader's lease")
                lease = await client.get(typed(Lease), key)
                assert lease.spec.holder_identity == "second"
                assert (lease.spec.lease_transitions or 0) == int(was_first)
            async with running(lambda: third.run(_for_ever)):
                await eventually(lambda: third.is_leader, "the takeover of a lease given back")


def _candidate(client: KubeClient, key: ObjectKey, identity: str) -> Election:
    settings = replace(QUICK, identity=identity)
    return Election(settings, KubeLeaseStore(client, key), CLOCK, system_chance())


async def _for_ever() -> None:
    await asyncio.Event().wait()


async def check_events_are_written_and_counted(kubeconfig: Path) -> None:
    async with connected(kubeconfig) as (client, ns):
        recorder = EventRecorder(
            client,
            RecorderSettings(component="plimsoll-check", instance="here"),
            ids=system_ids(),
            metrics=Metrics(),
        )
        claim = ObjectReference(
            api_version="v1", kind="PersistentVolumeClaim", namespace=ns, name="data"
        )
        async with running(recorder.run):
            for _ in range(3):
                recorder.emit(claim, "CapacityTooSmall", "It needs 10Gi, the largest has 8Gi.")
            recorder.emit(claim, "Waiting", "Not yet.")
            await recorder.flush(TIME_LIMIT)
        about = Selection(namespace=ns, fields="involvedObject.name=data")
        events = (await client.list(typed(Event), about)).items
        counts = {event.reason: event.count for event in events}
        assert counts == {"CapacityTooSmall": 3, "Waiting": 1}, counts


async def check_a_dead_process_has_no_effect(kubeconfig: Path) -> None:
    async with connected(kubeconfig) as (client, ns), HttpTransport(access(kubeconfig)) as inner:
        lifeline = Lifeline()
        dying = client_over(SeverableTransport(inner, lifeline))
        await dying.create(CONFIG_MAPS, config_map(ns, "alive"))
        lifeline.cut()
        last_words = asyncio.ensure_future(dying.create(CONFIG_MAPS, config_map(ns, "dead")))
        await CLOCK.sleep(timedelta(milliseconds=200))
        assert not last_words.done()
        last_words.cancel()
        assert await client.find(CONFIG_MAPS, ObjectKey(ns, "alive")) is not None
        assert await client.find(CONFIG_MAPS, ObjectKey(ns, "dead")) is None
