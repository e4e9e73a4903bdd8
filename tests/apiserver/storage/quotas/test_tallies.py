"""What a collection keeps for quotas is what a count of all its objects would find."""

from random import Random

import msgspec
import pytest

from plimsoll.apiserver.admission.quota.scopes import Scope
from plimsoll.apiserver.admission.quota.tally import QuotaTally, counted
from plimsoll.apiserver.storage.collection import (
    Change,
    ChangeKind,
    Collection,
    StoredRecord,
    encode_raw,
)
from plimsoll.apiserver.storage.drafts import Draft
from plimsoll.apiserver.storage.quotas.tallies import MOST_SCOPES
from plimsoll.apiserver.storage.revisions import Revisions
from plimsoll.apiserver.storage.store import MemoryStore, StoreFailedError
from plimsoll.runtime.clock import SteppedClock
from tests.apiserver.admission.requests import a_pod

NAMES = ("pods", "requests.cpu", "requests.memory", "count/pods")
EVERYTHING: tuple[Scope, ...] = ()
LIMITED = (Scope("Terminating", "Exists"),)
SCOPES = (EVERYTHING, LIMITED)
NAMESPACES = ("a", "b")


class FailingStore(MemoryStore):
    """Refuses what it is told to."""

    refuses = False

    def append(self, rows: object) -> None:
        if self.refuses:
            raise StoreFailedError("disk full")
        super().append(rows)  # type: ignore[arg-type]  # passed on as it came


def shown(tally: QuotaTally) -> dict[str, str]:
    return {name: str(n) for name, n in tally.totals(NAMES).items() if n.sign}


def count(collection: Collection, namespace: str, scopes: tuple[Scope, ...]) -> dict[str, str]:
    """The oracle: all objects, read one by one."""
    records = collection.newest_records(f"{namespace}/")
    return shown(counted("", "pods", scopes, [record.document() for record in records]))


def change(versions: Revisions | Draft, chance: Random) -> None:
    """A pod comes, changes or goes."""
    collection = versions.collection("pods")
    key = f"{chance.choice(NAMESPACES)}/{chance.randrange(6)}"
    previous = collection.newest(key)
    if previous is not None and chance.random() < 0.4:
        last = msgspec.structs.replace(previous, revision=versions.next_revision)
        versions.stage(collection, Change(ChangeKind.DELETED, last, previous))
        return
    amounts = {"cpu": f"{chance.randrange(9)}00m", "memory": chance.choice(["1Gi", "5M"])}
    limit = {"activeDeadlineSeconds": 5} if chance.random() < 0.5 else {}
    pod = a_pod("p", {"requests": amounts}, **limit)
    record = StoredRecord(key, versions.next_revision, encode_raw(pod), {}, {})
    kind = ChangeKind.ADDED if previous is None else ChangeKind.MODIFIED
    versions.stage(collection, Change(kind, record, previous))


def check(versions: Revisions | Draft) -> None:
    collection = versions.collection("pods")
    for namespace in NAMESPACES:
        for scopes in SCOPES:
            kept = shown(collection.tally(namespace, scopes))
            assert kept == count(collection, namespace, scopes)


def drafted(revisions: Revisions, chance: Random) -> None:
    """Several changes at once, which may be overtaken by another, and may be given up."""
    draft = Draft(revisions)
    check(draft)
    for _ in range(chance.randrange(1, 4)):
        change(draft, chance)
    check(draft)
    if chance.random() < 0.3:
        change(revisions, chance)
    if chance.random() < 0.8:
        draft.commit()


async def settled(revisions: Revisions, store: FailingStore, chance: Random) -> None:
    """What is staged is written, or all of it is lost."""
    store.refuses = chance.random() < 0.3
    try:
        await revisions.durable()
    except StoreFailedError:
        assert store.refuses


@pytest.mark.parametrize("seed", range(25))
async def test_kept_usage_is_what_a_count_would_find(seed: int) -> None:
    chance, store = Random(seed), FailingStore()
    revisions = Revisions(store, SteppedClock())
    for _ in range(60):
        match chance.randrange(6):
            case 0:
                await settled(revisions, store, chance)
            case 1:
                drafted(revisions, chance)
            case _:
                change(revisions, chance)
        if chance.random() < 0.5:
            check(revisions)
    check(revisions)


async def test_what_a_draft_has_counted_is_not_counted_again() -> None:
    revisions = Revisions(FailingStore(), SteppedClock())
    change(revisions, Random(1))
    draft = Draft(revisions)
    draft.collection("pods").tally("a", EVERYTHING)
    change(draft, Random(2))
    assert revisions.collection("pods").find_tally("a", EVERYTHING) is None
    assert draft.commit()
    assert revisions.collection("pods").find_tally("a", EVERYTHING) is not None
    check(revisions)


async def test_quotas_with_ever_new_scopes_do_not_take_memory_without_end() -> None:
    collection = Revisions(FailingStore(), SteppedClock()).collection("pods")
    for number in range(MOST_SCOPES + 1):
        collection.tally("a", (Scope("PriorityClass", "In", (str(number),)),))
    assert collection.find_tally("a", (Scope("PriorityClass", "In", ("0",)),)) is None
    assert collection.find_tally("a", (Scope("PriorityClass", "In", ("1",)),)) is not None
