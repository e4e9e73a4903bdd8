"""The clusters that one driver serves, and which of them answers.

One that does not answer is left alone for a while: every call to it would wait for its time limit,
and calls for the others with it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from plimsoll.decide.ceph.volume_ids import decompose_volume_id
from plimsoll.processes.driver.backends.ceph.ceph_cluster import failures_of
from plimsoll.processes.driver.backends.ceph.class_parameters import CephClass
from plimsoll.processes.driver.backends.ceph.clusters.pool_names import split_name
from plimsoll.processes.driver.backends.ceph.journaled_backend import JournaledBackend
from plimsoll.runtime.clock import Clock
from plimsoll.wire.csi.errors import FAILURE_BY_CODE, CsiStatusError
from plimsoll.wire.csi.refusals import failed_precondition, unavailable

log = logging.getLogger(__name__)

LEFT_ALONE = timedelta(seconds=20)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberCluster:
    name: str
    """As classes and ids of volumes call it."""
    prefix: str
    """Of the names of its pools; empty for the first one."""
    backend: JournaledBackend


class MemberClusters:
    def __init__(self, members: Sequence[MemberCluster], clock: Clock) -> None:
        """The first one is that of classes that name none."""
        self.all = tuple(members)
        self._clock = clock
        self._failed_at: dict[str, datetime] = {}

    @property
    def first(self) -> MemberCluster:
        return self.all[0]

    def named(self, name: str) -> MemberCluster:
        return next(each for each in self.all if each.name == name)

    def of_pool(self, pool: str) -> MemberCluster:
        """By the full name. Raises CsiStatusError."""
        prefix, _ = split_name(pool)
        for each in self.all:
            if each.prefix == prefix:
                return each
        raise failed_precondition(f"pool {pool}: this driver serves no cluster {prefix}")

    def parse(self, parameters: Mapping[str, str]) -> CephClass:
        """As the cluster of the class sees it. Raises CsiStatusError (INVALID_ARGUMENT)."""
        found = self.first.backend.parse(parameters)
        return self.named(found.home).backend.parse(parameters)

    def of_class(self, wanted: CephClass) -> Sequence[MemberCluster]:
        """Its own cluster first."""
        home = self.named(wanted.home)
        named = {pool.cluster_id for pool in wanted.pools}
        return [home, *(each for each in self.all if each is not home and each.name in named)]

    async def of_id(self, volume_id: str) -> MemberCluster | None:
        """None: no driver has made up such an id. Raises CsiStatusError."""
        try:
            cluster_id = decompose_volume_id(volume_id).cluster_id
        except ValueError:
            return None
        for each in self.all:
            if each.name == cluster_id:
                return each
        for each in self.answering():
            with failures_of(volume_id):
                if await each.backend.cluster.is_called(cluster_id):
                    return each
        known = ", ".join(each.name for each in self.all)
        raise failed_precondition(
            f"{volume_id}: is of cluster {cluster_id}, and this driver serves {known}"
        )

    # Which of them answer

    def answering(self) -> Sequence[MemberCluster]:
        """Those that are worth asking."""
        return [each for each in self.all if not self._is_left_alone(each)]

    def _is_left_alone(self, member: MemberCluster) -> bool:
        failed_at = self._failed_at.get(member.name)
        return failed_at is not None and self._clock.now() - failed_at < LEFT_ALONE

    async def ask_all(
        self, ask: Callable[[MemberCluster], Awaitable[T]]
    ) -> Sequence[tuple[MemberCluster, T]]:
        """All at once, and what those say that answer. Raises CsiStatusError if none does, or if
        one answers with a refusal."""
        asked = self.answering()
        answers = await asyncio.gather(*(self._ask(each, ask) for each in asked))
        found = [pair for pair in answers if pair is not None]
        if not found:
            names = ", ".join(each.name for each in self.all)
            raise unavailable(f"none of the clusters {names} answers; look at `ceph health`")
        return found

    async def ask_every(self, ask: Callable[[MemberCluster], Awaitable[T]]) -> Sequence[T]:
        """All at once, also those left alone. Returns when none of them is at work any more: a late
        fence could undo the release that follows it. Raises CsiStatusError unless each answers."""
        asked = await asyncio.gather(*map(ask, self.all), return_exceptions=True)
        if failed := [each for each in asked if isinstance(each, BaseException)]:
            raise failed[0]
        return [each for each in asked if not isinstance(each, BaseException)]

    async def _ask(
        self, member: MemberCluster, ask: Callable[[MemberCluster], Awaitable[T]]
    ) -> tuple[MemberCluster, T] | None:
        try:
            answer = await ask(member)
        except CsiStatusError as refusal:
            if refusal.code in FAILURE_BY_CODE:
                # An answer, if not the one that was wanted.
                raise
            facts = {"cluster": member.name, "error": refusal.detail}
            log.warning("cluster does not answer", extra=facts)
            self._failed_at[member.name] = self._clock.now()
            return None
        return member, answer

    def take_returned(self, answered: Iterable[MemberCluster]) -> bool:
        """Whether one of them did not answer before; the next time it is not told again."""
        back = [each.name for each in answered if each.name in self._failed_at]
        for name in back:
            del self._failed_at[name]
        return bool(back)
