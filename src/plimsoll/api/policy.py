"""PriorityClass, which ranks pods, and PodDisruptionBudget, which limits their evictions."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from plimsoll.api.meta import ApiObject, ApiStruct, Condition
from plimsoll.api.selectors.label import LabelSelectorSpec


class PriorityClass(ApiObject, frozen=True, kw_only=True):
    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None
    description: str = ""


class DisruptionBudgetSpec(ApiStruct, frozen=True, kw_only=True):
    """Counts are numbers of pods, or percentages as text."""

    selector: LabelSelectorSpec | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class DisruptionBudgetStatus(ApiStruct, frozen=True, kw_only=True):
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int = 0
    disrupted_pods: Mapping[str, datetime | None] = msgspec.field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(ApiObject, frozen=True, kw_only=True):
    spec: DisruptionBudgetSpec = DisruptionBudgetSpec()
    status: DisruptionBudgetStatus = DisruptionBudgetStatus()
