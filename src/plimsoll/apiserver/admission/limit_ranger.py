"""LimitRanger: what a container gets when it asks for nothing, and what may be asked for at all."""

from collections.abc import Iterator
from dataclasses import dataclass

from plimsoll.api.quantity import Quantity, parse_quantity
from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.model.kinds.pods.totals import total_resources
from plimsoll.apiserver.model.kinds.quantities import (
    LARGEST_IN_MILLIS,
    MILLIS_IN_UNIT,
    comparable_numbers,
)
from plimsoll.apiserver.model.status import forbidden

DEFAULTED = "kubernetes.io/limit-ranger"

Amounts = dict[str, Quantity]
"""By name of the resource."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked of one resource; None where nothing is said."""

    request: Quantity | None
    limit: Quantity | None = None


def admit(attributes: Attributes) -> None:
    if not _applies(attributes) or attributes.resource.plural != "pods":
        return
    for limit_range in attributes.reader.list("", "limitranges", attributes.namespace):
        _default_pod(attributes.document, _limits(limit_range))


def check(attributes: Attributes) -> None:
    if not _applies(attributes):
        return
    spec = attributes.document.get("spec") or {}
    errors_of = _pod_errors if attributes.resource.plural == "pods" else _claim_errors
    for limit_range in attributes.reader.list("", "limitranges", attributes.namespace):
        found = [error for limit in _limits(limit_range) for error in errors_of(spec, limit)]
        errors = list(dict.fromkeys(found))
        if errors:
            why = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
            raise forbidden(attributes.resource, attributes.name, why)


def _applies(attributes: Attributes) -> bool:
    """New pods, and those that are resized; claims whenever they change."""
    if attributes.subresource or attributes.resource.group:
        return attributes.subresource == "resize"
    if attributes.old is not None and "deletionTimestamp" in attributes.old["metadata"]:
        return False
    match attributes.resource.plural:
        case "pods":
            return attributes.operation is Operation.CREATE
        case "persistentvolumeclaims":
            return attributes.operation is not Operation.DELETE
        case _:
            return False


def _limits(limit_range: Document) -> list[Document]:
    return (limit_range.get("spec") or {}).get("limits") or []


# What is filled in


def _default_pod(pod: Document, limits: list[Document]) -> None:
    spec, notes = pod.get("spec") or {}, []
    for kind, field in (("container", "containers"), ("init container", "initContainers")):
        for container in spec.get(field) or []:
            for given, what in (("defaultRequest", "request"), ("default", "limit")):
                added = _default_container(container, _defaults(limits, given), f"{what}s")
                if added:
                    name = container.get("name", "")
                    notes.append(f"{', '.join(sorted(added))} {what} for {kind} {name}")
    if notes:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations[DEFAULTED] = f"LimitRanger plugin set: {'; '.join(notes)}"


def _defaults(limits: list[Document], given: str) -> dict[str, str]:
    return {
        name: text
        for limit in limits
        if limit.get("type") == "Container"
        for name, text in (limit.get(given) or {}).items()
    }


def _default_container(container: Document, wanted: dict[str, str], field: str) -> list[str]:
    """Names of the resources that were filled in."""
    resources = container.setdefault("resources", {})
    present = resources.get(field) or {}
    added = [name for name in wanted if name not in present]
    if added:
        resources[field] = wanted | present
    return added


# What is refused


def _claim_errors(spec: Document, limit: Document) -> Iterator[str]:
    """Only what a claim requests counts; its limits have no meaning."""
    if limit.get("type") != "PersistentVolumeClaim":
        return
    requests = _amounts(spec.get("resources") or {}, "requests")
    for name, text in sorted((limit.get("min") or {}).items()):
        what = f"minimum {name} usage per PersistentVolumeClaim is {text}"
        yield from _minimum_errors(what, parse_quantity(text), Ask(requests.get(name)))
    for name, text in sorted((limit.get("max") or {}).items()):
        what = f"maximum {name} usage per PersistentVolumeClaim is {text}"
        request = requests.get(name)
        if request is None:
            yield f"{what}.  No request is specified"
        elif parse_quantity(text) < request:
            yield f"{what}, but request is {request}"


def _pod_errors(spec: Document, limit: Document) -> Iterator[str]:
    if limit.get("type") == "Pod":
        requests = _pod_amounts(spec, "requests")
        yield from _bound_errors(limit, requests, _pod_amounts(spec, "limits"))
    if limit.get("type") != "Container":
        return
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or []:
            resources = container.get("resources") or {}
            requests = _amounts(resources, "requests")
            yield from _bound_errors(limit, requests, _amounts(resources, "limits"))


def _bound_errors(limit: Document, requests: Amounts, limits: Amounts) -> Iterator[str]:
    kind = limit["type"]
    for name, text in sorted((limit.get("min") or {}).items()):
        ask = Ask(requests.get(name), limits.get(name))
        what = f"minimum {name} usage per {kind} is {text}"
        yield from _minimum_errors(what, parse_quantity(text), ask)
    for name, text in sorted((limit.get("max") or {}).items()):
        ask = Ask(requests.get(name), limits.get(name))
        what = f"maximum {name} usage per {kind} is {text}"
        yield from _maximum_errors(what, parse_quantity(text), ask)
    for name, text in sorted((limit.get("maxLimitRequestRatio") or {}).items()):
        ask = Ask(requests.get(name), limits.get(name))
        what = f"{name} max limit to request ratio per {kind} is {text}"
        yield from _ratio_errors(what, parse_quantity(text), ask)


def _minimum_errors(what: str, bound: Quantity, ask: Ask) -> Iterator[str]:
    if ask.request is None:
        yield f"{what}.  No request is specified"
    elif ask.request < bound:
        yield f"{what}, but request is {ask.request}"
    elif ask.limit is not None and ask.limit < bound:
        yield f"{what}, but limit is {ask.limit}"


def _maximum_errors(what: str, bound: Quantity, ask: Ask) -> Iterator[str]:
    if ask.limit is None:
        yield f"{what}.  No limit is specified"
    elif bound < ask.limit:
        yield f"{what}, but limit is {ask.limit}"
    elif ask.request is not None and bound < ask.request:
        yield f"{what}, but request is {ask.request}"


def _ratio_errors(what: str, bound: Quantity, ask: Ask) -> Iterator[str]:
    nothing = Quantity(0)
    request, limit, _ = comparable_numbers(ask.request or nothing, ask.limit or nothing, bound)
    if not request:
        yield f"{what}, but no request is specified or request is 0"
    elif not limit:
        yield f"{what}, but no limit is specified or limit is 0"
    elif limit / request > _ratio_of(bound):
        yield f"{what}, but provided ratio is {limit / request:f}"


def _ratio_of(bound: Quantity) -> float:
    is_exact = bound.value <= LARGEST_IN_MILLIS
    return bound.milli_value / MILLIS_IN_UNIT if is_exact else float(bound.value)


# What is asked for


def _amounts(resources: Document, field: str) -> Amounts:
    return {name: parse_quantity(text) for name, text in (resources.get(field) or {}).items()}


def _pod_amounts(spec: Document, field: str) -> Amounts:
    # What is said for the pod as a whole comes first.
    return total_resources(spec, field) | _amounts(spec.get("resources") or {}, field)
