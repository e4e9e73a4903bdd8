"""CreateVolume and DeleteVolume as a driver runs them: steps of the journal, and the image itself.

`Ceph` has a pool for the journal, which every zone reaches, and a pool in each of two zones.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from typing import Any

from plimsoll.decide.ceph.journal.layout import CephPoolRef, parse_entry
from plimsoll.decide.ceph.journal.operations import JournalProblem, RadosAnswer, RemoveImage
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
from tests.decide.ceph.journal.rados_table import MakeImage, RadosTable, TableSteps

JOURNAL_POOL, A, B = CephPoolRef("journal", 2), CephPoolRef("zone-a", 5), CephPoolRef("zone-b", 6)
POOLS = dict([JOURNAL_POOL, A, B])
JOURNAL = CephJournal(pool=JOURNAL_POOL)
REQUEST = "pvc-1"
KEY = "csi.volume.pvc-1"
DIRECTORY = "csi.volumes.default"


class CallEnd(StrEnum):
    """How a call ended that made no volume."""

    NO_ROOM = "NoRoom"
    TRY_AGAIN = "TryAgain"


@dataclass(slots=True)
class Ceph:
    table: RadosTable = field(default_factory=lambda: RadosTable(pools=POOLS))
    uuids: Iterator[int] = field(default_factory=count)

    def uuid(self) -> str:
        return f"00000000-0000-4000-8000-{next(self.uuids):012}"

    def create(self, pool: CephPoolRef, *, has_room: bool = True) -> TableSteps[Any]:
        """The place of the volume, or how else the call ended."""
        wanted = ImageRequest(request_name=REQUEST, pool=pool, uuid=self.uuid())
        found = yield from reserve(JOURNAL, wanted)
        if isinstance(found, KnownImage):
            return (yield from self._known(found.place, pool))
        if isinstance(found, JournalProblem):
            return CallEnd.TRY_AGAIN
        if not has_room:
            ended = yield from abandon(JOURNAL, found)
            yield from clean(JOURNAL)
            return CallEnd.TRY_AGAIN if isinstance(ended, JournalProblem) else CallEnd.NO_ROOM
        return (yield from self._made(found))

    def _made(self, reserved: ReservedImage) -> TableSteps[ImagePlace | CallEnd]:
        answer = yield MakeImage(pool=reserved.place.pool.name, name=reserved.place.name)
        if answer.problem:
            return CallEnd.TRY_AGAIN
        ended = yield from finish(JOURNAL, reserved, "image-id")
        if not isinstance(ended, AttemptFinished):
            return CallEnd.TRY_AGAIN
        yield from clean(JOURNAL)
        return reserved.place

    def _known(self, place: ImagePlace, pool: CephPoolRef) -> TableSteps[Any]:
        """An image that is gone was being deleted: that is finished first."""
        if (place.pool.name, place.name) in self.table.images:
            yield from clean(JOURNAL)
            return place
        problem = yield from forget(JOURNAL, place.pool, place.uuid)
        return CallEnd.TRY_AGAIN if problem else (yield from self.create(pool))

    def delete(self, place: ImagePlace) -> TableSteps[JournalProblem | None]:
        answer = yield RemoveImage(pool=place.pool.name, name=place.name)
        if answer.problem:
            return JournalProblem.IO_ERROR
        problem = yield from forget(JOURNAL, place.pool, place.uuid)
        yield from clean(JOURNAL)
        return problem

    def created(self, pool: CephPoolRef) -> ImagePlace:
        """A call that meets no fault makes the volume, however earlier ones ended."""
        place = self.table.run(self.create(pool))
        assert isinstance(place, ImagePlace), place
        return place

    def assert_only(self, place: ImagePlace) -> None:
        """There is this volume, and nothing else: no other image, object or key."""
        assert self.table.images == {(place.pool.name, place.name)}
        directory = self.table.objects["journal"][DIRECTORY]
        assert directory.keys() == {KEY}
        assert parse_entry(directory[KEY]) == (place.uuid, place.pool.id)
        image = {f"csi.volume.{place.uuid}": _attributes(place)}
        assert self._image_objects() == {place.pool.name: image}

    def assert_empty(self) -> None:
        assert self.table.images == set()
        assert not self.table.objects.get("journal", {}).get(DIRECTORY)
        assert self._image_objects() == {}

    def _image_objects(self) -> dict[str, Any]:
        pools = {name: objects for name, objects in self.table.objects.items() if objects}
        rest = {key for key in pools.pop("journal", {}) if key != DIRECTORY}
        assert rest == set()
        return pools


def _attributes(place: ImagePlace) -> dict[str, str]:
    return {
        "csi.volname": REQUEST,
        "csi.imagename": place.name,
        "csi.imageid": "image-id",
        "csi.journalpool": "0000000000000002",
    }


def length(steps: Generator[Any, RadosAnswer, Any], ceph: Ceph) -> int:
    """How many operations the steps take when none of them fails."""
    before = len(ceph.table.carried_out)
    ceph.table.run(steps)
    return len(ceph.table.carried_out) - before
