"""What all decisions about calls to a driver have in common.

A step names a call and what must be written before it is made. The call can be repeated at any
time, so an interrupted step begins again at its front. What is written afterwards is decided once
the outcome is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

import msgspec

from plimsoll.api.meta import ApiObject, Condition
from plimsoll.api.quantity import Format, Quantity
from plimsoll.api.typed import TYPES
from plimsoll.decide.plan import NOTHING, Emit, EventType, Plan
from plimsoll.decide.provisioning.calls import STILL_RUNNING, CallFailed, Code

Call = TypeVar("Call")

# A driver that is short of something may mean its own memory, not the volume.
PERHAPS_RUNNING = STILL_RUNNING | {Code.RESOURCE_EXHAUSTED}
API_VERSIONS = {
    type_: f"{group}/{version}" if group else version
    for (group, version, _), type_ in TYPES.items()
}

INFEASIBLE = frozenset({Code.INVALID_ARGUMENT, Code.OUT_OF_RANGE, Code.NOT_FOUND})


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Generic[Call]):
    plan: Plan = NOTHING
    """To be written before the call."""
    call: Call | None = None


@dataclass(frozen=True, slots=True)
class NotAsked:
    """The call could not be made: a secret is missing, or something else on our side."""

    message: str

    def __str__(self) -> str:
        return self.message


Failure = CallFailed | NotAsked


def is_final(failure: Failure) -> bool:
    """The driver is surely not at work on it any more."""
    return isinstance(failure, CallFailed) and failure.code not in PERHAPS_RUNNING


def is_infeasible(failure: Failure) -> bool:
    """Final, and no repetition of the same call will do better."""
    return isinstance(failure, CallFailed) and failure.code in INFEASIBLE


def code_number(failure: Failure) -> int | None:
    """As gRPC counts: the members of Code stand in that order."""
    return list(Code).index(failure.code) + 1 if isinstance(failure, CallFailed) else None


def told(object_: ApiObject, reason: str, message: str) -> Emit:
    """A normal event about the object."""
    return _event(object_, EventType.NORMAL, reason, message)


def warned(object_: ApiObject, reason: str, message: str) -> Emit:
    return _event(object_, EventType.WARNING, reason, message)


def _event(object_: ApiObject, type_: EventType, reason: str, message: str) -> Emit:
    regarding = {
        "apiVersion": API_VERSIONS[type(object_)],
        "kind": type(object_).__name__,
        "metadata": msgspec.to_builtins(object_.metadata),
    }
    return Emit(regarding=regarding, type=type_, reason=reason, message=message)


def merged_conditions(
    before: Sequence[Condition],
    wanted: Sequence[Condition],
    *,
    about: frozenset[str],
    keep: bool,
) -> tuple[Condition, ...]:
    """Conditions with the wanted ones among them.

    Those that are not `about` this stay as they are; `keep` says whether the others do that are not
    wanted anew. One that says the same as before keeps its time.
    """
    left = {condition.type: condition for condition in wanted}
    merged = []
    for condition in before:
        if condition.type in left:
            merged.append(_unless_the_same(left.pop(condition.type), condition))
        elif keep or condition.type not in about:
            merged.append(condition)
    return (*merged, *left.values())


def _unless_the_same(new: Condition, old: Condition) -> Condition:
    is_same = (new.status, new.reason, new.message) == (old.status, old.reason, old.message)
    return old if is_same else new


def a_condition(type_: str, now: datetime, message: str = "") -> Condition:
    return Condition(type=type_, status="True", message=message, last_transition_time=now)


def size_text(size_bytes: int) -> str:
    return Quantity(size_bytes, format=Format.BINARY_SI).canonical
