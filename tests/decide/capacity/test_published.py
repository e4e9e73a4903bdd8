"""Objects find their pairs, and what is left over is remembered."""

from datetime import UTC, datetime, timedelta

import msgspec

from plimsoll.api.selectors.label import LabelRequirementSpec, LabelSelectorSpec
from plimsoll.api.storage import CSIStorageCapacity
from plimsoll.decide.capacity.pools import POOLS, PublishedPool, pools_text
from plimsoll.decide.capacity.published import Pair, PublishedCapacity
from plimsoll.decide.capacity.volume_sizes import Cost
from tests.builders import CLASS, ZONE, a_capacity

NOW = datetime(2024, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
PAIR = Pair(((ZONE, "a"),), CLASS)


def an_object(name: str = "one", uid: str = "") -> CSIStorageCapacity:
    made = a_capacity(name, segment={ZONE: "a"}, gib=1)
    metadata = msgspec.structs.replace(made.metadata, uid=uid or made.uid)
    return msgspec.structs.replace(made, metadata=metadata)


def names(published: PublishedCapacity) -> list[str]:
    return [object_.name for object_, _ in published.obsolete()]


def test_an_object_belongs_to_the_pair_that_it_is_about() -> None:
    published = PublishedCapacity()
    published.want(PAIR)
    assert published.put(an_object(), NOW) == PAIR
    assert published.current(PAIR) == an_object()
    assert (len(published), published.count, published.strays) == (1, 1, 0)
    assert names(published) == []


def test_a_second_object_for_a_pair_is_left_over() -> None:
    published = PublishedCapacity()
    published.want(PAIR)
    published.put(an_object("one"), NOW)
    assert published.put(an_object("two"), NOW) is None
    assert names(published) == ["two"]
    assert published.strays == 0


def test_an_object_that_is_about_nothing_is_left_over() -> None:
    published = PublishedCapacity()
    published.want(PAIR)
    rack = LabelSelectorSpec(match_expressions=(LabelRequirementSpec(key=ZONE, operator="Exists"),))
    published.put(msgspec.structs.replace(an_object(), node_topology=rack), NOW)
    assert names(published) == ["one"]
    assert published.strays == 1


def test_an_object_is_left_over_from_when_its_pair_is_dropped() -> None:
    published = PublishedCapacity()
    published.want(PAIR)
    published.put(an_object(), NOW)
    published.drop(PAIR, LATER)
    assert published.obsolete() == [(an_object(), LATER)]
    assert PAIR not in published


def test_a_pair_that_returns_takes_its_object_back() -> None:
    published = PublishedCapacity()
    published.put(an_object(), NOW)
    published.want(PAIR)
    assert published.current(PAIR) == an_object()
    assert names(published) == []


def test_when_an_object_is_gone_its_duplicate_takes_its_place() -> None:
    published = PublishedCapacity()
    published.want(PAIR)
    published.put(an_object("one"), NOW)
    published.put(an_object("two"), NOW)
    assert published.remove(an_object("one").key) == PAIR
    assert published.current(PAIR) == an_object("two")
    assert names(published) == []


def test_an_object_made_anew_under_the_same_name_is_another() -> None:
    published = PublishedCapacity()
    published.want(PAIR)
    published.put(an_object(), NOW)
    assert published.put(an_object(uid="new"), NOW) == PAIR
    assert published.remove(an_object().key, uid="uid-plimsoll-one") is None
    assert published.current(PAIR) is not None


def of_pools(zone: str, *pools: str) -> CSIStorageCapacity:
    told = [PublishedPool(name=pool, free={"": 1}, cost=Cost()) for pool in pools]
    made = a_capacity(f"of-{zone}", segment={ZONE: zone}, gib=1)
    metadata = msgspec.structs.replace(made.metadata, annotations={POOLS: str(pools_text(told))})
    return msgspec.structs.replace(made, metadata=metadata)


def test_pairs_that_share_pools_come_in_the_order_in_which_the_pools_are_told() -> None:
    published = PublishedCapacity()
    pools = [f"pool-{letter}" for letter in "abcdefgh"]
    for pool in reversed(pools):
        published.want(Pair(((ZONE, pool),), CLASS))
        published.put(of_pools(pool, pool), NOW)
    published.want(PAIR)
    published.put(of_pools("a", *pools), NOW)
    told = [segment[0][1] for segment, _ in published.sharing([PAIR])]
    assert told == ["a", *pools]
