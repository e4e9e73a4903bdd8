"""The steps that all parts of the journal have in common: read, set and remove keys of an object.

An object that does not exist has no keys. What cannot be done comes back as a problem.
"""

from collections.abc import Mapping

from plimsoll.decide.ceph.journal.operations import (
    PROBLEMS,
    JournalProblem,
    ObjectCreation,
    RadosObject,
    RadosProblem,
    RadosSteps,
    ReadKeys,
    WriteRadosObject,
)

ANYTHING: Mapping[str, str] = {}


def read_keys(
    object_: RadosObject, *keys: str, prefix: str = ""
) -> RadosSteps[Mapping[str, str] | JournalProblem]:
    """The values of those keys that are there, or of all that begin with `prefix`."""
    answer = yield ReadKeys(object=object_, keys=keys, prefix=prefix)
    if answer.problem and answer.problem is not RadosProblem.NOT_FOUND:
        return PROBLEMS[answer.problem]
    return answer.values


def set_keys(
    object_: RadosObject,
    values: Mapping[str, str],
    *,
    expected: Mapping[str, str] = ANYTHING,
    removed: tuple[str, ...] = (),
) -> RadosSteps[JournalProblem | None]:
    """All at once; the object is created if need be. `Changed`: a key has another value than
    expected, and nothing was set."""
    answer = yield WriteRadosObject(
        object=object_,
        creation=ObjectCreation.IDEMPOTENT,
        expected=expected,
        values=values,
        removed=removed,
    )
    return PROBLEMS[answer.problem] if answer.problem else None


def remove_keys(object_: RadosObject, *keys: str) -> RadosSteps[JournalProblem | None]:
    """They need not be there."""
    answer = yield WriteRadosObject(object=object_, removed=keys)
    if answer.problem in (None, RadosProblem.NOT_FOUND):
        return None
    return PROBLEMS[answer.problem]
