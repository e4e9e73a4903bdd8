"""Groups are found by their claims, whatever was written, read again or deleted before."""

from datetime import UTC, datetime
from random import Random

import msgspec
import pytest

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.scheduling.binding.groups import Group, GroupedClaim, GroupState
from plimsoll.processes.scheduler.binding.group_book import GroupBook
from plimsoll.simulator.stories.cluster import StoryCluster, a_cluster
from plimsoll.wire.errors import KubeError

pytestmark = pytest.mark.virtual_time

NAMES = ("a", "b", "c", "d")


def a_group(pod: str, claims: tuple[str, ...], namespace: str = "default") -> Group:
    return Group(
        namespace=namespace,
        pod=pod,
        pod_uid=f"uid-of-{pod}",
        node="node-a",
        attempt=0,
        deadline=datetime(2030, 1, 1, tzinfo=UTC),
        claims=tuple(GroupedClaim(name, f"uid-of-{name}") for name in claims),
    )


def by_claim(book: GroupBook) -> dict[ObjectKey, list[Group]]:
    """What a look at each of them finds."""
    found: dict[ObjectKey, list[Group]] = {}
    for group in sorted(book.all(), key=lambda each: each.pod_uid):
        for key in dict.fromkeys(map(group.key_of, group.claims)):
            found.setdefault(key, []).append(group)
    return found


def assert_found(book: GroupBook) -> None:
    expected = by_claim(book)
    for namespace in ("default", "other"):
        for name in NAMES:
            key = ObjectKey(namespace, name)
            assert book.of_claim(key) == expected.get(key, []), key


async def change(book: GroupBook, chance: Random) -> None:
    pod = f"pod-{chance.randrange(4)}"
    if chance.random() < 0.25:
        await book.delete(f"uid-of-{pod}")
        return
    # A forged record may name a claim twice.
    claims = tuple(chance.choices(NAMES, k=chance.randint(1, 3)))
    group = a_group(pod, claims, chance.choice(("default", "other")))
    await book.write(msgspec.structs.replace(group, state=chance.choice([*GroupState])))


async def a_book(cluster: StoryCluster) -> GroupBook:
    book = GroupBook(cluster.client, "default")
    await book.load()
    return book


async def test_groups_are_found_by_their_claims_after_any_changes() -> None:
    async with a_cluster() as cluster:
        book, chance = await a_book(cluster), Random(7)
        for _ in range(200):
            await change(book, chance)
            assert_found(book)
        again = await a_book(cluster)
        assert by_claim(again) == by_claim(book)
        assert_found(again)


async def test_what_another_scheduler_wrote_first_is_found_by_its_own_claims() -> None:
    async with a_cluster() as cluster:
        book = await a_book(cluster)
        await book.write(a_group("pod", ("a", "b")))
        other = await a_book(cluster)
        await other.write(a_group("pod", ("c",)))
        with pytest.raises(KubeError):
            await book.write(a_group("pod", ("d",)))
        assert [group.claims for group in book.of_claim(ObjectKey("default", "c"))] == [
            (GroupedClaim("c", "uid-of-c"),)
        ]
        assert_found(book)
