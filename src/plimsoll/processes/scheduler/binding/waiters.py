"""Bindings that wait, and what wakes them: the objects that have to do with a pod's volumes."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from plimsoll.api.core import Lease, Node
from plimsoll.api.meta import ApiObject, ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import CSINode
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.provisioning.intents import intent_in
from plimsoll.decide.scheduling.binding.bind_volumes import Choice

Topic = tuple[type[ApiObject], ObjectKey]


class Waiters:
    """Bindings that wait, by the objects whose changes may end that."""

    def __init__(self) -> None:
        self._by_topic: dict[Topic, dict[asyncio.Event, None]] = {}
        """Those of a topic in the order in which they came."""

    def observe(self, before: ApiObject | None, after: ApiObject | None) -> None:
        for topic in dict.fromkeys((*_topics(before), *_topics(after))):
            for woken in self._by_topic.get(topic, ()):
                woken.set()

    def waiting(self, pod: Pod, choice: Choice) -> AbstractContextManager[asyncio.Event]:
        return self._waiting(_interests(pod, choice))

    def waiting_for_claims(
        self, claims: Iterable[ObjectKey]
    ) -> AbstractContextManager[asyncio.Event]:
        return self._waiting([(PersistentVolumeClaim, key) for key in dict.fromkeys(claims)])

    @contextmanager
    def _waiting(self, topics: list[Topic]) -> Iterator[asyncio.Event]:
        woken = asyncio.Event()
        for topic in topics:
            self._by_topic.setdefault(topic, {})[woken] = None
        try:
            yield woken
        finally:
            for topic in topics:
                self._by_topic[topic].pop(woken)
                if not self._by_topic[topic]:
                    del self._by_topic[topic]


def _topics(object_: ApiObject | None) -> Iterator[Topic]:
    match object_:
        case Pod() | Node() | PersistentVolumeClaim():
            yield type(object_), object_.key
        case CSINode():
            yield Node, object_.key
        case PersistentVolume():
            yield PersistentVolume, object_.key
            if claim := object_.spec.claim:
                yield PersistentVolumeClaim, claim
        case Lease():
            if intent := intent_in(object_.annotations):
                yield PersistentVolumeClaim, intent.claim_key
        case _:
            return


def _interests(pod: Pod, choice: Choice) -> list[Topic]:
    claims = [binding.claim for binding in choice.static] + [*choice.awaited]
    topics: list[Topic] = [
        (Pod, pod.key),
        (Node, ObjectKey("", choice.node)),
        *((PersistentVolume, binding.volume.key) for binding in choice.static),
        *((PersistentVolumeClaim, claim.key) for claim in claims),
    ]
    return [*dict.fromkeys(topics)]
