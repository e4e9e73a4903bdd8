"""Which of several clusters has the volume of a request, in the journal of one of them.

A class may have pools in several clusters, and each has a journal of its own. The journal of the
cluster that the class names first decides between them: before a volume is made in any cluster, its
id is written there under the name of its request, and again when it is made. A retry that goes to
another cluster points the request to the new volume, in one write that remembers the old one as
abandoned. It needs the journal of the class only, so it succeeds while the first cluster is down.
A caller is answered after the request was confirmed, and never before: so an abandoned volume is
one that no caller knows.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll.decide.ceph.journal.key_steps import read_keys, remove_keys, set_keys
from plimsoll.decide.ceph.journal.operations import (
    PROBLEMS,
    JournalProblem,
    RadosProblem,
    RadosSteps,
    WriteRadosObject,
)
from plimsoll.decide.ceph.journal.places import CephJournal

CLAIM = "plimsoll.cluster."
ABANDONED = "plimsoll.abandoned."
MADE, MAKING = "made", "making"


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeClaim:
    """A volume has the name of the request to itself."""

    volume_id: str
    """Tells the cluster."""
    is_made: bool = False

    @property
    def text(self) -> str:
        return f"{MADE if self.is_made else MAKING} {self.volume_id}"


def parse_claim(text: str) -> VolumeClaim | None:
    """None: there is none, or none that can be read."""
    phase, _, volume_id = text.partition(" ")
    if phase not in (MADE, MAKING) or not volume_id:
        return None
    return VolumeClaim(volume_id=volume_id, is_made=phase == MADE)


def find_claim(
    journal: CephJournal, request_name: str
) -> RadosSteps[VolumeClaim | JournalProblem | None]:
    key = CLAIM + request_name
    found = yield from read_keys(journal.directory, key)
    if isinstance(found, JournalProblem):
        return found
    return parse_claim(found.get(key, ""))


def write_claim(
    journal: CephJournal, request_name: str, before: VolumeClaim | None, volume_id: str
) -> RadosSteps[JournalProblem | None]:
    """For a volume that is about to be made. What was being made before is abandoned. `Changed`:
    another call was first."""
    key = CLAIM + request_name
    abandoned = before is not None and not before.is_made and before.volume_id != volume_id
    values = {key: VolumeClaim(volume_id=volume_id).text}
    if before is not None and abandoned:
        values[ABANDONED + before.volume_id] = request_name
    expected = {key: before.text if before else ""}
    return (yield from set_keys(journal.directory, values, expected=expected))


def confirm_claim(
    journal: CephJournal, request_name: str, volume_id: str
) -> RadosSteps[JournalProblem | None]:
    """The volume is made, and its caller may be told. `Changed`: it was abandoned meanwhile."""
    key = CLAIM + request_name
    made = VolumeClaim(volume_id=volume_id, is_made=True)
    answer = yield WriteRadosObject(
        object=journal.directory,
        expected={key: VolumeClaim(volume_id=volume_id).text},
        values={key: made.text},
    )
    if answer.problem is not RadosProblem.CHANGED:
        return PROBLEMS[answer.problem] if answer.problem else None
    found = yield from find_claim(journal, request_name)
    return None if found == made else JournalProblem.CHANGED


def drop_claim(
    journal: CephJournal, request_name: str, volume_id: str
) -> RadosSteps[JournalProblem | None]:
    """The volume is deleted; what the request has by now, if that is another one, stays."""
    key = CLAIM + request_name
    for is_made in (True, False):
        text = VolumeClaim(volume_id=volume_id, is_made=is_made).text
        answer = yield WriteRadosObject(
            object=journal.directory, expected={key: text}, removed=(key,)
        )
        if answer.problem not in (None, RadosProblem.CHANGED, RadosProblem.NOT_FOUND):
            return PROBLEMS[answer.problem]
    return None


def list_abandoned(journal: CephJournal) -> RadosSteps[Mapping[str, str] | JournalProblem]:
    """The names of their requests, by the ids of volumes."""
    found = yield from read_keys(journal.directory, prefix=ABANDONED)
    if isinstance(found, JournalProblem):
        return found
    return {key.removeprefix(ABANDONED): name for key, name in found.items()}


def drop_abandoned(journal: CephJournal, volume_id: str) -> RadosSteps[JournalProblem | None]:
    """Nothing is left of it."""
    return (yield from remove_keys(journal.directory, ABANDONED + volume_id))
