"""What the containers of a pod need together, and the quality of service that follows from it."""

from plimsoll.api.quantity import Quantity, parse_quantity
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.resource_names import is_huge_pages

QUALITY_RESOURCES = ("cpu", "memory")


def amounts_of(container: Document, kind: str) -> dict[str, str]:
    amounts: dict[str, str] = (container.get("resources") or {}).get(kind) or {}
    return amounts


def total_resources(spec: Document, kind: str) -> dict[str, Quantity]:
    """What the containers need together, at the moment when they need most.

    Init containers run one after the other; those that restart stay beside all later ones.
    """
    running: dict[str, Quantity] = {}
    for container in spec.get("containers") or []:
        _add(running, amounts_of(container, kind))
    beside: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or []:
        now = dict(beside)
        _add(now, amounts_of(container, kind))
        if container.get("restartPolicy") == "Always":
            _add(running, amounts_of(container, kind))
            beside = now
        _raise(peak, now)
    _raise(running, peak)
    return running


def _add(total: dict[str, Quantity], amounts: dict[str, str]) -> None:
    for name, text in amounts.items():
        quantity = parse_quantity(text)
        total[name] = total[name] + quantity if name in total else quantity


def _raise(total: dict[str, Quantity], other: dict[str, Quantity]) -> None:
    for name, quantity in other.items():
        if name not in total or quantity > total[name]:
            total[name] = quantity


def default_pod_resources(spec: Document) -> None:
    """A pod that limits what its containers share asks for what they need, or for the limit."""
    resources = spec.get("resources") or {}
    if not resources.get("limits") and not resources.get("requests"):
        return
    requests = dict(resources.get("requests") or {})
    needed = {
        name: str(total)
        for name, total in total_resources(spec, "limits").items()
        if is_huge_pages(name) and name not in requests
    }
    limits = needed | (resources.get("limits") or {})
    if not limits:
        return
    resources["limits"] = limits
    requests = _default_requests(spec, limits) | requests
    if requests:
        resources["requests"] = requests


def _default_requests(spec: Document, limits: dict[str, str]) -> dict[str, str]:
    totals = total_resources(spec, "requests")
    return {
        name: text
        for name, text in limits.items()
        if name in QUALITY_RESOURCES or is_huge_pages(name)
    } | {name: str(totals[name]) for name in QUALITY_RESOURCES if name in totals}


def quality_of_service(spec: Document) -> str:
    """Guaranteed, Burstable or BestEffort: who goes first when a node runs out of memory."""
    if "resources" in spec:
        holders = [{"resources": spec["resources"]}]
        is_limited = not amounts_of(holders[0], "limits") or _has_limits(holders[0])
    else:
        holders = [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]
        is_limited = all(_has_limits(holder) for holder in holders)
    limits: dict[str, Quantity] = {}
    requests: dict[str, Quantity] = {}
    for holder in holders:
        _add(limits, _counting(amounts_of(holder, "limits")))
        _add(requests, _counting(amounts_of(holder, "requests")))
    if not limits and not requests:
        return "BestEffort"
    return "Guaranteed" if is_limited and limits == requests else "Burstable"


def _counting(amounts: dict[str, str]) -> dict[str, str]:
    return {
        name: text
        for name, text in amounts.items()
        if name in QUALITY_RESOURCES and parse_quantity(text).sign > 0
    }


def _has_limits(holder: Document) -> bool:
    return len(_counting(amounts_of(holder, "limits"))) == len(QUALITY_RESOURCES)
