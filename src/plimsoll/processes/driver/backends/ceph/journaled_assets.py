"""One image for each request, whatever fails in between: the journal first, then the image.

A caller is answered after the journal has finished the attempt. What a crash leaves is found by the
next call for the same request, in this zone or another, or by `clean`.
"""

from collections.abc import Awaitable, Callable

from plimsoll.decide.ceph.journal.layout import CephPoolRef, parse_entry
from plimsoll.decide.ceph.journal.lookup import (
    RequestState,
    find_attributes,
    find_pool,
    read_request,
)
from plimsoll.decide.ceph.journal.operations import JournalProblem, RadosSteps
from plimsoll.decide.ceph.journal.places import CephJournal, ImagePlace, ImageRequest
from plimsoll.decide.ceph.journal.removal import clean, forget
from plimsoll.decide.ceph.journal.reservations import (
    AttemptFinished,
    KnownImage,
    ReservedImage,
    abandon,
    finish,
    reserve,
)
from plimsoll.processes.driver.backends.ceph.journal_runs import JournalError, JournalRunner
from plimsoll.wire.ceph.connection import CephConnection, PoolScope
from plimsoll.wire.ceph.errors import CephError, CephFailure
from plimsoll.wire.ceph.images import NewImage, RbdImages

MakeImage = Callable[[ImagePlace], Awaitable[None]]
"""Makes the image at that place; the same place again is no error, and ends in the same image."""

CERTAIN = frozenset({CephFailure.NO_ROOM, CephFailure.REJECTED, CephFailure.DENIED})
"""After these the image was not made and will not be."""
ROUNDS = 2


class JournaledImages:
    """All methods raise CephError and JournalError.

    Callers see to it that there is one call at a time for each request, as the services do: one
    call could make an image while another removes it, and it would be left.
    """

    def __init__(
        self, connection: CephConnection, journal: CephJournal, runner: JournalRunner
    ) -> None:
        self._connection = connection
        self._journal = journal
        self._runner = runner

    def images(self, pool: str) -> RbdImages:
        scope = PoolScope(pool=pool, namespace=self._journal.layout.namespace)
        return RbdImages(self._connection, scope)

    async def create(self, request: ImageRequest, make: MakeImage) -> ImagePlace:
        """The image of the request: a new one, or the one that it has already."""
        for _ in range(ROUNDS):
            found: ReservedImage | KnownImage = await self._runner.run(
                reserve(self._journal, request)
            )
            if isinstance(found, ReservedImage):
                return await self._made(found, make)
            if await self.exists(found):
                await self.clean()
                return found.place
            # A deletion was interrupted between the image and the journal.
            place = found.place
            await self._runner.run(forget(self._journal, place.pool, place.uuid))
        raise JournalError(JournalProblem.CHANGED, None)

    async def _made(self, reserved: ReservedImage, make: MakeImage) -> ImagePlace:
        place = reserved.place
        try:
            await make(place)
            facts = await self.images(place.pool.name).facts(place.name)
        except CephError as error:
            if error.failure in CERTAIN:
                await self._runner.run(abandon(self._journal, reserved))
                await self.clean()
            raise
        ended = await self._runner.run(finish(self._journal, reserved, facts.id))
        if not isinstance(ended, AttemptFinished):
            raise JournalError(JournalProblem.CHANGED, None)
        await self.clean()
        return place

    async def exists(self, known: KnownImage) -> bool:
        try:
            await self.images(known.place.pool.name).facts(known.place.name)
        except CephError as error:
            if error.failure is CephFailure.NOT_FOUND:
                return False
            raise
        return True

    async def find(self, request_name: str) -> ImagePlace | None:
        """Where the image of a request is, made or being made."""
        return await self._runner.run(_place(self._journal, request_name))

    async def delete(self, request_name: str) -> None:
        """That there is none is no error."""
        place = await self.find(request_name)
        if place is not None:
            await self.remove(place)
        await self.clean()

    async def remove(self, place: ImagePlace) -> None:
        await remove_if_there(self.images(place.pool.name), place.name)
        await self._runner.run(forget(self._journal, place.pool, place.uuid))

    async def clean(self) -> int:
        """Removes what attempts left that were given up; answers how many it could not."""
        return await self._runner.run(clean(self._journal))


def _place(
    journal: CephJournal, request_name: str
) -> RadosSteps[ImagePlace | JournalProblem | None]:
    state = yield from read_request(journal, request_name)
    if isinstance(state, JournalProblem):
        return state
    if not state.entry:
        return None
    try:
        entry = parse_entry(state.entry)
    except ValueError:
        return JournalProblem.BAD_POOL_ID
    pool = yield from find_pool(journal, entry)
    if not isinstance(pool, CephPoolRef):
        return pool
    name = yield from _image_name(journal, state, pool.name, entry.uuid)
    if isinstance(name, JournalProblem):
        return name
    return ImagePlace(pool=pool, uuid=entry.uuid, name=name)


def _image_name(
    journal: CephJournal, state: RequestState, pool: str, uuid: str
) -> RadosSteps[str | JournalProblem]:
    if state.is_being_made:
        return state.image_name
    found = yield from find_attributes(journal, pool, uuid)
    if isinstance(found, JournalProblem):
        return found
    return found.attributes.image_name if found else journal.layout.default_prefix + uuid


async def make_empty(images: RbdImages, new: NewImage) -> None:
    """The image, also after an attempt that was cut off, or had another size."""
    try:
        await images.create(new)
    except CephError as error:
        if error.failure is not CephFailure.EXISTS:
            raise
        if not await _is_as_wanted(images, new):
            await remove_if_there(images, new.name)
            await images.create(new)


async def remove_if_there(images: RbdImages, name: str) -> None:
    try:
        await images.remove(name)
    except CephError as error:
        if error.failure is not CephFailure.NOT_FOUND:
            raise


async def _is_as_wanted(images: RbdImages, new: NewImage) -> bool:
    """An attempt that was cut off in the middle leaves a name without an image."""
    try:
        return (await images.facts(new.name)).size_bytes == new.size_bytes
    except CephError as error:
        if error.failure is CephFailure.NOT_FOUND:
            return False
        raise
