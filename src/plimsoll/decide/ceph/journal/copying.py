"""Copies that are being made, in the directory of a journal: what each holds of its source.

A copy is made from a snapshot that is taken of its source, and that is removed when the copy is
whole. What the snapshot is of is written down before it is taken. A copy whose request does not
lead to it any more, and is not being made, was interrupted.
"""

from collections.abc import Mapping

from plimsoll.decide.ceph.journal.key_steps import read_keys, remove_keys, set_keys
from plimsoll.decide.ceph.journal.layout import CephPoolRef
from plimsoll.decide.ceph.journal.operations import (
    FindPoolName,
    JournalProblem,
    RadosSteps,
)
from plimsoll.decide.ceph.journal.places import MAKING, CephJournal, ImagePlace
from plimsoll.decide.ceph.volume_ids import parse_pool_id, pool_id_digits

COPYING = "plimsoll.copying."


def begin_copy(
    journal: CephJournal, name: str, source: ImagePlace
) -> RadosSteps[JournalProblem | None]:
    """`name` is what the copy is called."""
    values = {COPYING + name: f"{pool_id_digits(source.pool.id)}/{source.name}"}
    return (yield from set_keys(journal.directory, values))


def end_copy(journal: CephJournal, name: str) -> RadosSteps[JournalProblem | None]:
    """Its source has nothing of it any more."""
    return (yield from remove_keys(journal.directory, COPYING + name))


def find_interrupted(
    journal: CephJournal,
) -> RadosSteps[Mapping[str, ImagePlace | None] | JournalProblem]:
    """The sources of copies, by the names of these; None: it is not known, or its pool is gone."""
    copies = yield from read_keys(journal.directory, prefix=COPYING)
    making = yield from names_in_the_making(journal)
    if isinstance(making, JournalProblem):
        return making
    if isinstance(copies, JournalProblem):
        return copies
    found: dict[str, ImagePlace | None] = {}
    for key, text in copies.items():
        name = key.removeprefix(COPYING)
        if name not in making:
            found[name] = yield from _source(text)
    return found


def names_in_the_making(journal: CephJournal) -> RadosSteps[frozenset[str] | JournalProblem]:
    """What images, or directories, are called that some request leads to and that are not made."""
    found = yield from read_keys(journal.directory, prefix=MAKING)
    if isinstance(found, JournalProblem):
        return found
    return frozenset(text.partition(" ")[2] for text in found.values())


def _source(text: str) -> RadosSteps[ImagePlace | None]:
    digits, _, name = text.partition("/")
    try:
        pool_id = parse_pool_id(digits)
    except ValueError:
        return None
    answer = yield FindPoolName(pool_id=pool_id)
    if answer.problem:
        return None
    return ImagePlace(pool=CephPoolRef(answer.pool, pool_id), uuid="", name=name)
