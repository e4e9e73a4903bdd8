"""When intents of an earlier process may be settled."""

from datetime import timedelta
from random import Random

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.decide.provisioning.intents import (
    Intent,
    IntentState,
    StoredIntent,
    lease_document,
)
from plimsoll.reconcile.intents import IntentBook, IntentSettings
from plimsoll.runtime.clock import SteppedClock
from plimsoll.runtime.metrics import Metrics
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kube import KubeClient
from tests.wire.scripted import ScriptedTransport, answer, refusal

WAIT = timedelta(seconds=10)
SETTINGS = IntentSettings(
    driver="pools.test",
    namespace="storage",
    wait=WAIT,
    is_request=lambda request: isinstance(request.get("name", ""), str),
)
GAUGE = Metrics().gauge("unsettled", "Those that are open.")


def an_intent(driver: str = "pools.test") -> Intent:
    claim = {"metadata": {"namespace": "default", "name": "data", "uid": "1"}}
    return Intent(driver=driver, claim=claim, volume_name="pvc-1")


def a_lease(driver: str = "pools.test") -> Document:
    lease = lease_document(StoredIntent(intent=an_intent(driver)), "storage")
    return {**lease, "metadata": {**lease["metadata"], "resourceVersion": "7"}}


async def a_book(clock: SteppedClock) -> IntentBook:
    leases = {"kind": "LeaseList", "metadata": {}, "items": [a_lease()]}
    client = KubeClient(ScriptedTransport(answer(body=leases)), clock=clock, chance=Random(1))
    book = IntentBook(client, SETTINGS, GAUGE, None)
    assert [intent.uid for intent in await book.load()] == ["1"]
    return book


async def test_what_an_earlier_process_began_waits_for_its_calls_to_end() -> None:
    clock = SteppedClock()
    book = await a_book(clock)
    assert book.wait("1") == WAIT
    clock.advance(WAIT / 2)
    assert book.wait("1") == WAIT / 2
    clock.advance(WAIT / 2)
    assert book.wait("1") is None
    assert book.wait("of another claim") is None


@pytest.mark.parametrize("left", [1e-7, 4e-7])
async def test_less_than_can_be_waited_for_is_no_wait(
    left: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the claim would be looked at again and again until time has passed."""
    clock = SteppedClock()
    book = await a_book(clock)
    due = clock.monotonic() + WAIT.total_seconds()
    monkeypatch.setattr(clock, "monotonic", lambda: due - left)
    assert book.wait("1") is None


async def test_an_intent_whose_answer_got_lost_is_stored_again_under_its_version() -> None:
    transport = ScriptedTransport(
        refusal(409, "AlreadyExists"), answer(body=a_lease()), answer(body=a_lease())
    )
    client = KubeClient(transport, clock=SteppedClock(), chance=Random(1))
    await IntentBook(client, SETTINGS, GAUGE, None).begin(an_intent())
    written = transport.requests[-1]
    assert written.method == "PUT"
    assert msgspec.json.decode(written.body)["metadata"]["resourceVersion"] == "7"


async def test_a_loop_that_fails_and_reads_the_records_again_deletes_none_of_them() -> None:
    leases = {"kind": "LeaseList", "metadata": {}, "items": [a_lease()]}
    transport = ScriptedTransport(answer(body=leases), answer(body=leases))
    client = KubeClient(transport, clock=SteppedClock(), chance=Random(1))
    book = IntentBook(client, SETTINGS, GAUGE, None)
    await book.load()
    assert [intent.uid for intent in await book.load()] == ["1"]
    assert {request.method for request in transport.requests} == {"GET"}


async def test_what_an_earlier_leader_stored_too_late_is_found_when_it_is_seen_twice() -> None:
    clock = SteppedClock()
    none = {"kind": "LeaseList", "metadata": {}, "items": []}
    late = {"kind": "LeaseList", "metadata": {}, "items": [a_lease()]}
    transport = ScriptedTransport(*(answer(body=leases) for leases in (none, late, late, late)))
    client = KubeClient(transport, clock=clock, chance=Random(1))
    book = IntentBook(client, SETTINGS, GAUGE, None)
    assert await book.load() == []
    assert await book.load_strays() == []
    assert [intent.uid for intent in await book.load_strays()] == ["1"]
    assert book.is_inherited("1")
    assert book.wait("1") == WAIT
    assert await book.load_strays() == [], "it is known by now"


async def test_a_record_that_was_deleted_meanwhile_is_stored_anew() -> None:
    leases = {"kind": "LeaseList", "metadata": {}, "items": [a_lease()]}
    transport = ScriptedTransport(
        answer(body=leases),
        refusal(409, "Conflict"),
        refusal(404, "NotFound"),
        answer(body=a_lease()),
    )
    client = KubeClient(transport, clock=SteppedClock(), chance=Random(1))
    book = IntentBook(client, SETTINGS, GAUGE, None)
    await book.load()
    await book.enter("1", IntentState.UNDOING, "volume-1")
    assert [request.method for request in transport.requests] == ["GET", "PUT", "GET", "POST"]
    assert "resourceVersion" not in msgspec.json.decode(transport.requests[-1].body)["metadata"]


@pytest.mark.parametrize("way", ["begun again", "dropped"])
async def test_the_record_of_the_attempt_before_is_deleted_when_its_deletion_failed_once(
    way: str,
) -> None:
    """The claim may be bound by then, and no loop would look for a second record of it."""
    undone = msgspec.structs.replace(an_intent(), state=IntentState.UNDONE)
    lease = {**lease_document(StoredIntent(intent=undone), "storage")}
    leases = {"kind": "LeaseList", "metadata": {}, "items": [lease]}
    deleted = answer(body={"kind": "Status", "status": "Success"})
    transport = ScriptedTransport(
        answer(body=leases), answer(body=lease), refusal(403, "Forbidden"), deleted, deleted
    )
    client = KubeClient(transport, clock=SteppedClock(), chance=Random(1))
    book = IntentBook(client, SETTINGS, GAUGE, None)
    await book.load()
    second = msgspec.structs.replace(an_intent(), number=1)
    with pytest.raises(KubeError):
        await book.begin(second)
    await (book.begin(second) if way == "begun again" else book.drop("1"))
    deletions = [each for each in transport.requests if each.method == "DELETE"]
    names = [each.path.rpartition("/")[2] for each in deletions]
    assert names[:2] == [undone.name, undone.name]
    assert len(names) == (2 if way == "begun again" else 3)


async def test_the_intent_of_another_driver_is_not_written_over() -> None:
    there = answer(body=a_lease("another.test"))
    transport = ScriptedTransport(refusal(409, "AlreadyExists"), there)
    client = KubeClient(transport, clock=SteppedClock(), chance=Random(1))
    with pytest.raises(KubeError):
        await IntentBook(client, SETTINGS, GAUGE, None).begin(an_intent())
    assert [request.method for request in transport.requests] == ["POST", "GET"]


async def test_a_request_that_is_none_is_not_called_again() -> None:
    """It may have been stored by another hand; the loop goes on."""
    forged = msgspec.structs.replace(an_intent(), request={"name": ["no", "text"]})
    lease = lease_document(StoredIntent(intent=forged), "storage")
    leases = {"kind": "LeaseList", "metadata": {}, "items": [lease]}
    client = KubeClient(
        ScriptedTransport(answer(body=leases)), clock=SteppedClock(), chance=Random(1)
    )
    assert await IntentBook(client, SETTINGS, GAUGE, None).load() == []


async def test_the_intents_of_another_provisioner_are_none_of_ours(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nor is it told that they cannot be read: another process can."""
    other = msgspec.structs.replace(an_intent("another.test"), request={"name": ["no", "text"]})
    lease = lease_document(StoredIntent(intent=other), "storage")
    leases = {"kind": "LeaseList", "metadata": {}, "items": [lease]}
    transport = ScriptedTransport(answer(body=leases))
    client = KubeClient(transport, clock=SteppedClock(), chance=Random(1))
    assert await IntentBook(client, SETTINGS, GAUGE, None).load() == []
    assert caplog.records == []


async def test_where_leases_are_forbidden_the_process_itself_remembers() -> None:
    transport = ScriptedTransport(refusal(403, "Forbidden"))
    client = KubeClient(transport, clock=SteppedClock(), chance=Random(1))
    book = IntentBook(client, SETTINGS, GAUGE, None)
    await book.begin(an_intent())
    await book.enter("1", IntentState.UNDONE)
    assert book.next_number("1") == 1
    await book.drop("1")
    assert book.find("1") is None
    assert [request.method for request in transport.requests] == ["POST"]


async def test_a_refusal_after_an_undone_volume_uses_up_the_name_it_was_asked_under() -> None:
    """A deletion of the first volume may still be on its way: its name is never used again."""
    client = KubeClient(
        ScriptedTransport(refusal(403, "Forbidden")), clock=SteppedClock(), chance=Random(1)
    )
    book = IntentBook(client, SETTINGS, GAUGE, None)
    await book.begin(an_intent())
    await book.enter("1", IntentState.UNDONE)
    await book.begin(msgspec.structs.replace(an_intent(), number=book.next_number("1")))
    await book.refused("1")
    assert book.next_number("1") == 2


async def test_a_refusal_of_the_first_volume_leaves_nothing_to_remember() -> None:
    client = KubeClient(
        ScriptedTransport(refusal(403, "Forbidden")), clock=SteppedClock(), chance=Random(1)
    )
    book = IntentBook(client, SETTINGS, GAUGE, None)
    await book.begin(an_intent())
    await book.refused("1")
    assert book.find("1") is None


def leases_of(*intents: Intent) -> Document:
    leases = [lease_document(StoredIntent(intent=each), "storage") for each in intents]
    return {"kind": "LeaseList", "metadata": {}, "items": leases}


async def loaded(*intents: Intent) -> tuple[IntentBook, ScriptedTransport]:
    transport = ScriptedTransport(answer(body=leases_of(*intents)), answer(body={}))
    client = KubeClient(transport, clock=SteppedClock(), chance=Random(1))
    book = IntentBook(client, SETTINGS, GAUGE, None)
    await book.load()
    return book, transport


GIVEN_UP = msgspec.structs.replace(
    an_intent(), state=IntentState.UNDOING, request={"name": "pvc-1"}
)
NEXT = msgspec.structs.replace(an_intent(), number=1)


async def test_an_attempt_that_was_given_up_is_settled_beside_the_next() -> None:
    book, transport = await loaded(NEXT, GIVEN_UP)
    assert book.find("1") == NEXT
    assert book.given_up == [GIVEN_UP]
    assert [request.method for request in transport.requests] == ["GET"], "nothing is deleted"


async def test_an_attempt_that_was_given_up_uses_its_number_up() -> None:
    book, _ = await loaded(GIVEN_UP)
    assert book.find("1") is None
    assert book.next_number("1") == 1


async def test_the_record_of_an_earlier_attempt_that_is_over_goes() -> None:
    undone = msgspec.structs.replace(an_intent(), state=IntentState.UNDONE)
    book, transport = await loaded(undone, NEXT)
    assert (book.find("1"), book.given_up) == (NEXT, [])
    assert [request.method for request in transport.requests] == ["GET", "DELETE"]


@pytest.mark.parametrize("later", [NEXT, msgspec.structs.replace(NEXT, given_up=True)])
async def test_the_record_of_an_earlier_attempt_that_cannot_be_deleted_begins_nothing(
    later: Intent,
) -> None:
    """Its volume is not deleted once more, its number not used once more; when the server lets it
    go it goes."""
    undone = msgspec.structs.replace(an_intent(), state=IntentState.UNDONE)
    listed, forbidden = answer(body=leases_of(undone, later)), refusal(403, "Forbidden")
    deleted = answer(body={"kind": "Status", "status": "Success"})
    transport = ScriptedTransport(
        listed, forbidden, listed, listed, forbidden, listed, deleted, answer(body=leases_of(later))
    )
    client = KubeClient(transport, clock=SteppedClock(), chance=Random(1))
    book = IntentBook(client, SETTINGS, GAUGE, None)
    await book.load()
    for _ in range(4):
        assert await book.load_strays() == []
        assert (book.find("1"), book.given_up) == (
            (None, [later]) if later.given_up else (later, [])
        )
        assert book.next_number("1") == (2 if later.given_up else 1)
    deletions = [each.path for each in transport.requests if each.method == "DELETE"]
    assert [path.rpartition("/")[2] for path in deletions] == [undone.name] * 3


async def test_a_lease_that_is_deleted_by_hand_ends_what_was_given_up() -> None:
    transport = ScriptedTransport(answer(body=leases_of(GIVEN_UP)), refusal(404, "NotFound"))
    client = KubeClient(transport, clock=SteppedClock(), chance=Random(1))
    book = IntentBook(client, SETTINGS, GAUGE, None)
    await book.load()
    assert await book.has_ended(GIVEN_UP.name)
    assert book.given_up == []
