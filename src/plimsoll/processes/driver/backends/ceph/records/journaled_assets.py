"""One asset for each request, whatever fails in between: the journal first, then the asset.

A caller is answered after the journal has finished the attempt. What a crash leaves is found by the
next call for the same request, in this zone or another, or by `clean`.
"""

from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace

from plimsoll.decide.ceph.journal.operations import JournalProblem
from plimsoll.decide.ceph.journal.places import CephJournal, ImagePlace, ImageRequest
from plimsoll.decide.ceph.journal.removal import clean, forget, remove_pieces
from plimsoll.decide.ceph.journal.reservations import (
    KnownImage,
    ReservedImage,
    abandon,
    give_up,
    reserve,
)
from plimsoll.processes.driver.backends.ceph.records.journal_runs import JournalError, JournalRunner
from plimsoll.wire.ceph.errors import CephError, CephFailure

MakeAsset = Callable[[ImagePlace], Awaitable[str]]
"""Makes the asset at that place and answers its own id; the same place again is no error, and ends
in the same asset. It never removes what it finds there: another call may have finished it, and its
caller may know it. Raises SpoiltPlaceError if it cannot go on with that."""
RemoveAsset = Callable[[ImagePlace], Awaitable[None]]
"""That it is gone already is no error."""

CERTAIN = frozenset({CephFailure.NO_ROOM, CephFailure.REJECTED, CephFailure.DENIED})
"""After these the asset was not made and will not be."""


class SpoiltPlaceError(Exception):
    """What an interrupted attempt left at the place is not what is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunAsset:
    """What exists in the cluster and belongs to no request yet."""

    journal: CephJournal
    reserved: ReservedImage
    asset_id: str


class JournaledAssets:
    """All methods raise CephError and JournalError.

    Callers see to it that there is one call at a time for each request, as the services do: one
    call could make an asset while another removes it, and it would be left.
    """

    def __init__(self, journal: CephJournal, runner: JournalRunner) -> None:
        self._journal = journal
        self._runner = runner

    async def begin(self, request: ImageRequest, make: MakeAsset) -> BegunAsset:
        """The asset exists afterwards; `finish` of the journal gives it to its request."""
        try:
            return await self._begin(request, make)
        except SpoiltPlaceError:
            # The journal gives that place up for another one, unless it was finished meanwhile.
            return await self._begin(replace(request, may_resume=False), make)

    async def _begin(self, request: ImageRequest, make: MakeAsset) -> BegunAsset:
        found: ReservedImage | KnownImage = await self._runner.run(reserve(self._journal, request))
        if isinstance(found, KnownImage):
            # Another driver has finished it since this one looked.
            raise JournalError(JournalProblem.CHANGED, None)
        try:
            asset_id = await make(found.place)
        except CephError as error:
            self._runner.silent_pools.note(found.place.pool.name, error)
            if error.failure in CERTAIN:
                await self._runner.run(abandon(self._journal, found))
            raise
        if found.has_given_up:
            with suppress(JournalError):
                await self._clean_beside(found.place)
        return BegunAsset(journal=self._journal, reserved=found, asset_id=asset_id)

    async def give_up(self, request_name: str, *, only_uuid: str = "") -> None:
        """Whatever is being made for the request. What cannot be removed now is a leftover; a pool
        that did not answer a moment ago is not waited for again."""
        steps = give_up(self._journal, request_name, only_uuid=only_uuid)
        place: ImagePlace | None = await self._runner.run(steps)
        if place is not None and self._runner.silent_pools.find(place.pool.name) is None:
            with suppress(JournalError):
                await self._runner.run(remove_pieces(self._journal, place))

    async def remove(self, place: ImagePlace, remove: RemoveAsset) -> None:
        """With the leftovers of its pool, which has answered just now."""
        await remove(place)
        await self._runner.run(forget(self._journal, place.pool, place.uuid))
        await self._clean_beside(place)

    async def _clean_beside(self, place: ImagePlace) -> None:
        """The leftovers of its pool, which has answered just now: another one may be down."""
        await self._runner.run(clean(self._journal, is_asked=lambda id_: id_ == place.pool.id))

    async def clean(self, *, down: Collection[int] = ()) -> int:
        """Removes what attempts left that were given up; answers how many it could not. Pools that
        are known to be down, by their ids, are not asked."""
        return await self._runner.run(clean(self._journal, is_asked=lambda id_: id_ not in down))
