"""Reservations that followed the cluster are those of an index that is made anew."""

from collections.abc import Callable
from datetime import timedelta

import msgspec
from hypothesis import given, settings, strategies as st

from plimsoll.api.core import Lease
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.capacity.tokens import CAPACITY_TOKEN
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.provisioning.intents import IntentState
from plimsoll.decide.scheduling.reservations.index import ReservationIndex
from tests.builders import a_claim, a_pod, a_volume
from tests.decide.scheduling.columns.clusters import Chance
from tests.decide.scheduling.reservations.test_index import NOON, an_intent, made_at_noon, noted

NAMES = ("one", "other")
HOLDS = ("pod/1/make", "pod/1/undo", "pod/2/make")
EVENTS = 40


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_reservations_that_followed_the_cluster_are_those_of_an_index_made_anew(seed: int) -> None:
    chance, followed = Chance(seed), Followed()
    for _ in range(EVENTS):
        happens = chance.choice(HAPPENINGS)
        happens(followed, chance)
        assert followed.made_anew().by_key == followed.index.by_key


def some_claim(chance: Chance) -> PersistentVolumeClaim:
    """With a node or without; and made anew, at times, under its name."""
    bare = a_claim(chance.choice(NAMES), gib=chance.randint(1, 2), class_name="fast")
    uid = f"{bare.name}-{chance.usually(0, (1,))}"
    bare = msgspec.structs.replace(bare, metadata=msgspec.structs.replace(bare.metadata, uid=uid))
    told = {SELECTED_NODE: chance.choice(("n", "m"))} if chance.happens(70) else {}
    if told and chance.happens(30):
        told[HOLD] = chance.choice(HOLDS)
    found = noted(bare, **told)
    assert isinstance(found, PersistentVolumeClaim)
    return found


class Followed:
    """The cluster, and the index that followed it."""

    def __init__(self) -> None:
        self.now = NOON
        self.index = ReservationIndex()
        self.index.advance(self.now)
        self.claims: dict[ObjectKey, PersistentVolumeClaim] = {}
        self.pods: dict[ObjectKey, Pod] = {}
        self.volumes: dict[str, PersistentVolume] = {}
        self.records: dict[ObjectKey, Lease] = {}

    def made_anew(self) -> ReservationIndex:
        """It has seen the same objects, and takes over what no object tells."""
        anew = ReservationIndex()
        for volume in self.volumes.values():
            anew.put_volume(volume)
        for claim in self.claims.values():
            anew.put_claim(claim)
        for record in self.records.values():
            anew.put_record(record)
        for pod in self.pods.values():
            anew.put_pod(pod)
        anew.take_over(self.index)
        return anew

    def put_claim(self, chance: Chance) -> None:
        claim = some_claim(chance)
        self.claims[claim.key] = claim
        self.index.put_claim(claim)

    def remove_claim(self, chance: Chance) -> None:
        key = some_claim(chance).key
        self.claims.pop(key, None)
        self.index.remove_claim(key)

    def put_pod(self, chance: Chance) -> None:
        pod = a_pod(chance.choice(("web", "db")), claims=chance.some(NAMES, 1, 2))
        node = "n" if chance.happens(30) else ""
        leaves_at = NOON if chance.happens(10) else None
        pod = msgspec.structs.replace(
            pod,
            spec=msgspec.structs.replace(pod.spec, node_name=node),
            metadata=msgspec.structs.replace(pod.metadata, deletion_timestamp=leaves_at),
        )
        self.pods[pod.key] = pod
        self.index.put_pod(pod)

    def remove_pod(self, chance: Chance) -> None:
        if self.pods:
            key = chance.choice(sorted(self.pods))
            del self.pods[key]
            self.index.remove_pod(key)

    def decide_pod(self, chance: Chance) -> None:
        if self.pods:
            self.index.decide_pod(chance.choice(sorted(self.pods)))

    def refuse_pod(self, chance: Chance) -> None:
        if self.pods:
            self.index.refuse_pod(chance.choice(sorted(self.pods)))

    def put_record(self, chance: Chance) -> None:
        claim, number = some_claim(chance), chance.randint(0, 1)
        node = claim.annotations.get(SELECTED_NODE, "")
        record = an_intent(claim, chance.choice([*IntentState]), number=number, node=node)
        self.records[record.key] = record
        self.index.put_record(record, chance.randint(0, 1))

    def remove_record(self, chance: Chance) -> None:
        if self.records:
            key = chance.choice(sorted(self.records))
            del self.records[key]
            self.index.remove_record(key)

    def put_volume(self, chance: Chance) -> None:
        claim = some_claim(chance)
        made = made_at_noon(a_volume(f"of-{claim.uid}", gib=2, class_name="fast", claim=claim))
        volume = noted(made, **({CAPACITY_TOKEN: "1.0.2"} if chance.happens(50) else {}))
        assert isinstance(volume, PersistentVolume)
        self.volumes[volume.name] = volume
        self.index.put_volume(volume, chance.randint(0, 1))

    def remove_volume(self, chance: Chance) -> None:
        if self.volumes:
            name = chance.choice(sorted(self.volumes))
            del self.volumes[name]
            self.index.remove_volume(name)

    def advance(self, chance: Chance) -> None:
        self.now += timedelta(seconds=chance.choice((5, 30, 130, 600)))
        self.index.advance(self.now)


HAPPENINGS: list[Callable[[Followed, Chance], None]] = [
    *[Followed.put_claim] * 3,
    *[Followed.put_pod] * 2,
    *[Followed.decide_pod] * 2,
    *[Followed.put_record] * 2,
    Followed.remove_claim,
    Followed.remove_pod,
    Followed.refuse_pod,
    Followed.remove_record,
    Followed.put_volume,
    Followed.remove_volume,
    Followed.advance,
]
