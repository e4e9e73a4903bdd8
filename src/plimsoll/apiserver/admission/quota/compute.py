"""What pods use up of quotas for compute resources: cpu, memory, storage of the node, huge pages,
devices.

A pod counts with what its containers need at the moment when they need most, and its overhead.
While it is resized, the larger of what it has and what it asks for counts. Pure.
"""

from collections.abc import Iterable, Iterator

from plimsoll.api.quantity import Quantity, parse_quantity
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.pods.totals import amounts_of, total_resources
from plimsoll.apiserver.model.kinds.resource_names import (
    CONTAINER_RESOURCES,
    REQUESTS,
    is_extended,
    is_huge_pages,
)

LIMITS = "limits."
COMPUTE = CONTAINER_RESOURCES | {
    f"{side}{name}" for side in (REQUESTS, LIMITS) for name in CONTAINER_RESOURCES
}
MUST_BE_SAID = frozenset(
    f"{side}{name}" for side in ("", REQUESTS, LIMITS) for name in ("cpu", "memory")
)
"""What each container has to ask for by itself where a quota limits it."""


def is_compute(name: str) -> bool:
    """Whether pods use up what a quota calls `name`, by what they ask of their node."""
    return (
        name in COMPUTE
        or is_huge_pages(name.removeprefix(REQUESTS))
        or (name.startswith(REQUESTS) and is_extended(name.removeprefix(REQUESTS)))
    )


def compute_charge(pod: Document) -> dict[str, Quantity]:
    return _charged(_needed(pod, "requests"), _needed(pod, "limits"))


def find_missing(pod: Document, limited: Iterable[str]) -> str | None:
    """What containers have to ask for because a quota limits it, and do not; None: nothing."""
    spec = pod.get("spec") or {}
    if any(_of_pod(spec, side) for side in ("requests", "limits")):
        return None
    required = sorted(MUST_BE_SAID.intersection(limited))
    containers = [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]
    said = {
        each.get("name", ""): _charged(_amounts(each, "requests"), _amounts(each, "limits"))
        for each in containers
    }
    lacking = {name: sorted(each for each in said if name not in said[each]) for name in required}
    told = [f"{name} for: {','.join(names)}" for name, names in lacking.items() if names]
    return f"must specify {'; '.join(told)}" if told else None


def _charged(requests: dict[str, Quantity], limits: dict[str, Quantity]) -> dict[str, Quantity]:
    charged = {}
    for name, amount in requests.items():
        if name in CONTAINER_RESOURCES or is_huge_pages(name):
            charged[name] = amount
        charged[f"{REQUESTS}{name}"] = amount
    return charged | {
        f"{LIMITS}{name}": amount for name, amount in limits.items() if name in CONTAINER_RESOURCES
    }


def _needed(pod: Document, side: str) -> dict[str, Quantity]:
    spec = pod.get("spec") or {}
    total = total_resources(_as_it_runs(pod, side), side) | _of_pod(spec, side)
    for name, text in (spec.get("overhead") or {}).items():
        # What has no limit has none with its overhead, either.
        if side == "requests" or (name in total and total[name].sign):
            total[name] = total.get(name, Quantity(0)) + parse_quantity(text)
    return total


def _of_pod(spec: Document, side: str) -> dict[str, Quantity]:
    """What is said for all containers together."""
    return {
        name: amount
        for name, amount in _amounts(spec, side).items()
        if name in ("cpu", "memory") or is_huge_pages(name)
    }


def _amounts(holder: Document, side: str) -> dict[str, Quantity]:
    return {name: parse_quantity(text) for name, text in amounts_of(holder, side).items()}


def _as_it_runs(pod: Document, side: str) -> Document:
    """The specification, with what containers have where that is more."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    has = {
        each["name"]: each
        for field in ("containerStatuses", "initContainerStatuses")
        for each in status.get(field) or ()
        if each.get("resources")
    }
    if not has:
        return spec
    return spec | {
        field: [_with_status(each, has, side, status) for each in spec.get(field) or ()]
        for field in ("containers", "initContainers")
    }


def _with_status(
    container: Document, has: dict[str, Document], side: str, status: Document
) -> Document:
    found = has.get(container.get("name", ""))
    if found is None:
        return container
    largest: dict[str, str] = {}
    for amounts in _sources(container, found, side, status):
        for name, text in amounts.items():
            if name not in largest or parse_quantity(text) > parse_quantity(largest[name]):
                largest[name] = text
    return container | {"resources": {side: largest}}


def _sources(
    container: Document, found: Document, side: str, status: Document
) -> Iterator[dict[str, str]]:
    """What is asked for does not count where the node has said that it cannot be had."""
    conditions = status.get("conditions") or ()
    pending = [each.get("reason") for each in conditions if each.get("type") == "PodResizePending"]
    if pending[:1] != ["Infeasible"]:
        yield amounts_of(container, side)
    yield amounts_of(found, side)
    if side == "requests":
        yield found.get("allocatedResources") or {}
