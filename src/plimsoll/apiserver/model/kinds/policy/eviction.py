"""Whether a pod may be evicted now, and what that does to its budget: `POST pods/{name}/eviction`.

Pure: the pod and the budgets of its namespace in, the next version of a budget out. A budget is
spent here, before the pod goes: the disruption controller counts later, and two evictions in a row
must not both live on the same count.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from plimsoll.api.meta import wire_time
from plimsoll.api.patch.documents import clone
from plimsoll.api.registry import Document
from plimsoll.api.selectors.label import LabelSelector, LabelSelectorSpec
from plimsoll.apiserver.model.kinds.pods.binding import set_condition
from plimsoll.apiserver.model.kinds.pods.status import condition
from plimsoll.apiserver.model.status import ApiError

FINISHED = ("Succeeded", "Failed")
ALLOWED = "DisruptionAllowed"
VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."
SEVERAL = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
    "support."
)
DISRUPTED_LIMIT = 2000
"""So many evictions may wait for the disruption controller to see them."""
RETRY_SECONDS = 10


def spent_budget(pod: Document, budgets: Iterable[Document], now: datetime) -> Document | None:
    """The budget after this eviction; None: it costs none. Raises ApiError if it is refused."""
    if is_unguarded(pod):
        return None
    guarding = [budget for budget in budgets if _selects(budget, pod)]
    if len(guarding) > 1:
        raise ApiError(500, "", SEVERAL)
    if not guarding or _is_spare(pod, guarding[0]):
        return None
    _check(guarding[0])
    return _spent(guarding[0], pod["metadata"]["name"], now)


def is_unguarded(pod: Document) -> bool:
    """Pods that serve no client are not what budgets are about."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in (*FINISHED, "Pending") or "deletionTimestamp" in pod["metadata"]


def with_disruption_target(pod: Document, now: datetime) -> Document:
    """The pod, marked with why it goes."""
    marked: Document = clone(pod)
    why = {"reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}
    set_condition(marked.setdefault("status", {}), condition("DisruptionTarget", "True", now) | why)
    return marked


def _selects(budget: Document, pod: Document) -> bool:
    selector = (budget.get("spec") or {}).get("selector")
    if selector is None:
        return False
    try:
        parsed = LabelSelector.of(msgspec.convert(selector, LabelSelectorSpec))
    except ValueError:
        return False
    return parsed.matches(pod["metadata"].get("labels") or {})


def _is_spare(pod: Document, budget: Document) -> bool:
    """The pod is not ready, so that its budget did not count on it."""
    conditions = (pod.get("status") or {}).get("conditions") or []
    if any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired: int = status.get("desiredHealthy", 0)
    return 0 < desired <= int(status.get("currentHealthy", 0))


def _check(budget: Document) -> None:
    meta, status = budget["metadata"], budget.get("status") or {}
    allowed = status.get("disruptionsAllowed", 0)
    if status.get("observedGeneration", 0) < meta.get("generation", 0):
        still = f"The disruption budget {meta['name']} is still being processed by the server."
        raise _violated(still, retryAfterSeconds=RETRY_SECONDS)
    if allowed < 0:
        raise _forbidden(budget, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or {}) > DISRUPTED_LIMIT:
        raise _forbidden(
            budget,
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        )
    if not allowed:
        raise _violated(_why_none_is_allowed(meta["name"], status))


def _why_none_is_allowed(name: str, status: Document) -> str:
    said = _refusing_condition(status)
    message, reason = said.get("message", ""), said.get("reason", "")
    desired, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    current = f"The disruption budget {name} does not allow evicting pods currently"
    if message and reason == "SyncFailed":
        # The counts are of an earlier time, then.
        return f"{current} because it failed sync: {message}"
    if healthy <= desired:
        needs = f"needs {desired} healthy pods and has {healthy} currently"
        return f"The disruption budget {name} {needs}"
    return f"{current} ({reason}): {message}" if message else current


def _refusing_condition(status: Document) -> Mapping[str, str]:
    for each in status.get("conditions") or ():
        if each.get("type") == ALLOWED and each.get("status") == "False":
            said: Mapping[str, str] = each
            return said
    return {}


def _violated(why: str, **more: int) -> ApiError:
    causes = [{"reason": "DisruptionBudget", "message": why}]
    return ApiError(429, "TooManyRequests", VIOLATED, {"causes": causes} | more)


def _forbidden(budget: Document, why: str) -> ApiError:
    name = budget["metadata"]["name"]
    return ApiError(
        403,
        "Forbidden",
        f'poddisruptionbudget.policy "{name}" is forbidden: {why}',
        {"name": name, "group": "policy", "kind": "poddisruptionbudget"},
    )


def _spent(budget: Document, pod: str, now: datetime) -> Document:
    spent: Document = clone(budget)
    status = spent["status"]
    status["disruptionsAllowed"] -= 1
    status["disruptedPods"] = (status.get("disruptedPods") or {}) | {pod: wire_time(now)}
    if not status["disruptionsAllowed"]:
        set_condition(status, _none_allowed(status, now))
    return spent


def _none_allowed(status: Document, now: datetime) -> Document:
    said: Document = {
        "type": ALLOWED,
        "status": "False",
        "lastTransitionTime": wire_time(now),
        "reason": "InsufficientPods",
        "message": "",
    }
    observed = status.get("observedGeneration", 0)
    return said | ({"observedGeneration": observed} if observed else {})
