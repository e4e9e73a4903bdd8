"""What a rule answers when it is asked whether a change can help a pod that it turned away."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from plimsoll.api.meta import ApiObject
from plimsoll.api.pods import Pod


class Hint(StrEnum):
    WAKE = "Queue"
    LET_WAIT = "QueueSkip"
    NOT_CONCERNED = "NotRegistered"
    """The rule never looks at such changes."""


@dataclass(frozen=True, slots=True)
class QueueingHint:
    hint: Hint
    complaint: str = ""
    """What kept the rule from telling; the pod is woken then."""


def answer(test: Callable[..., bool] | None, pod: Pod, *objects: ApiObject | None) -> QueueingHint:
    """What the test says of the pod and the objects; None: the rule has no test for this."""
    if test is None:
        return QueueingHint(Hint.NOT_CONCERNED)
    try:
        return QueueingHint(Hint.WAKE if test(pod, *objects) else Hint.LET_WAIT)
    except ValueError as error:
        return QueueingHint(Hint.WAKE, str(error))


def always(*_objects: object) -> bool:
    return True


def never(*_objects: object) -> bool:
    return False
