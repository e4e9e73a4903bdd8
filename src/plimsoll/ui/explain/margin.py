"""Facts that are shown beside an explanation: ages of objects, policies of schedulers, remarks,
remedies.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document
from plimsoll.decide.explain.policies import ChosenPolicy
from plimsoll.decide.explain.remedies import Remedy
from plimsoll.decide.scheduling.reasons import SeenObject
from plimsoll.ui.explain.reading import NO_AGES, Ages


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """What is told beside an explanation."""

    now: datetime
    ages: Mapping[SeenObject, Ages]
    policies: Mapping[str, ChosenPolicy]
    """By the scheduler that pods name."""
    remarks: tuple[str, ...] = ()
    remedies: Mapping[ObjectKey, Remedy] = field(default_factory=dict)
    """By pod."""


def object_document(about: SeenObject | None, margin: Margin) -> Document | None:
    if about is None:
        return None
    age = margin.ages.get(about, NO_AGES)
    return {
        "kind": about.kind,
        "namespace": about.key.namespace or None,
        "name": about.key.name,
        "ageSeconds": seconds_of(age.since_made),
        "changedSecondsAgo": seconds_of(age.since_changed),
    }


def seconds_of(duration: timedelta | None) -> int | None:
    return None if duration is None else int(duration.total_seconds())
