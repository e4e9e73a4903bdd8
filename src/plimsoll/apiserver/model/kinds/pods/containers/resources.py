"""Compute resources of containers and pods: which names and amounts they may ask for."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Set as AbstractSet

from plimsoll.api.quantity import Quantity, parse_quantity
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.totals import (
    QUALITY_RESOURCES,
    amounts_of,
    total_resources,
)
from plimsoll.apiserver.model.kinds.pods.values import dns_label
from plimsoll.apiserver.model.kinds.resource_names import (
    HUGE_PAGES,
    amount_errors,
    container_name_errors,
    is_huge_pages,
    is_overcommit_allowed,
    resource_name_errors,
)

POD_RESOURCES = ("cpu", "hugepages-", "memory")

NameErrors = Callable[[str, str], Iterable[FieldError]]


def container_resource_errors(
    resources: Document, path: str, *, claims: AbstractSet[str] = frozenset()
) -> Iterator[FieldError]:
    """`claims`: names of the pod's resource claims, to which the container may refer."""
    yield from _requirement_errors(resources, path, container_name_errors)
    yield from _claim_errors(resources.get("claims") or [], claims, f"{path}.claims")


def pod_resource_errors(spec: Document, path: str) -> Iterator[FieldError]:
    """`spec.resources`: what all containers of the pod share."""
    resources = spec.get("resources")
    if resources is None:
        return
    if (spec.get("os") or {}).get("name") == "windows":
        yield FieldError.forbidden(path, "may not be set for a windows pod")
        return
    if resources.get("claims"):
        yield FieldError.forbidden(f"{path}.claims", "claims may not be set at pod-level")
        yield from _claim_errors(resources["claims"], set(), f"{path}.claims")
    yield from _requirement_errors(resources, path, _pod_name_errors)
    yield from _consistency_errors(spec, resources, path)


def _requirement_errors(
    resources: Document, path: str, name_errors: NameErrors
) -> Iterator[FieldError]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for name, text in amounts.items():
            where = f"{path}.{kind}[{name}]"
            yield from name_errors(name, where)
            yield from amount_errors(name, text, where)
            yield from _page_errors(name, text, where)
    for name, text in requests.items():
        yield from _limit_errors(name, text, limits, path)
    names = {*limits, *requests}
    has_pages = any(is_huge_pages(name) for name in names)
    if has_pages and not names.intersection(QUALITY_RESOURCES):
        yield FieldError.forbidden(path, "HugePages require cpu or memory")


def _limit_errors(name: str, text: str, limits: dict[str, str], path: str) -> Iterator[FieldError]:
    if name not in limits:
        if not is_overcommit_allowed(name):
            yield FieldError.required(
                f"{path}.limits", "Limit must be set for non overcommitable resources"
            )
        return
    wanted, limit = parse_quantity(text), parse_quantity(limits[name])
    if wanted != limit and not is_overcommit_allowed(name):
        yield FieldError.invalid(
            f"{path}.requests", text, f"must be equal to {name} limit of {limits[name]}"
        )
    elif wanted > limit:
        yield FieldError.invalid(
            f"{path}.requests",
            text,
            f"must be less than or equal to {name} limit of {limits[name]}",
        )


def _page_errors(name: str, text: str, path: str) -> Iterator[FieldError]:
    if not is_huge_pages(name):
        return
    try:
        size = parse_quantity(name.removeprefix(HUGE_PAGES))
    except ValueError:
        size = Quantity(0)
    is_whole = size.value > 0 and size.milli_value % 1000 == 0
    if not is_whole or parse_quantity(text).value % size.value:
        yield FieldError.invalid(path, text, f"{text} is not positive integer multiple of {name}")


def _pod_name_errors(name: str, path: str) -> Iterator[FieldError]:
    found = list(resource_name_errors(name, path))
    yield from found
    if not found and name not in POD_RESOURCES and not is_huge_pages(name):
        yield FieldError.not_supported(path, name, POD_RESOURCES)


def _claim_errors(
    claims: list[Document], known: AbstractSet[str], path: str
) -> Iterator[FieldError]:
    """A container may use a whole claim or some of its requests, but nothing twice."""
    seen: dict[str, set[str]] = defaultdict(set)
    for index, claim in enumerate(claims):
        where = f"{path}[{index}]"
        name, request = claim.get("name", ""), claim.get("request", "")
        if not name:
            yield FieldError.required(where)
            continue
        requests = seen[name]
        if request and "" not in requests:
            yield from dns_label(request, f"{where}.request")
        if requests and (not request or not requests.isdisjoint(("", request))):
            yield FieldError.duplicate(where, name)
        requests.add(request)
        if name not in known:
            yield FieldError.not_found(where, name)


def _consistency_errors(spec: Document, resources: Document, path: str) -> Iterator[FieldError]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, total in total_resources(spec, "requests").items():
        if name in requests and total > parse_quantity(requests[name]):
            yield FieldError.invalid(
                f"{path}.requests[{name}]",
                requests[name],
                f"must be greater than or equal to aggregate container requests of {total}",
            )
    for name, total in total_resources(spec, "limits").items():
        is_over = name in limits and total > parse_quantity(limits[name])
        if is_over and is_huge_pages(name):
            yield FieldError.invalid(
                f"{path}.limits[{name}]",
                limits[name],
                f"must be greater than or equal to aggregate container limits of {total}",
            )
    for index, container in enumerate(spec.get("containers") or []):
        for name, text in amounts_of(container, "limits").items():
            if name in limits and parse_quantity(text) > parse_quantity(limits[name]):
                yield FieldError.invalid(
                    f"{path}.containers[{index}][{name}].limits",
                    text,
                    f"must be less than or equal to pod limits of {limits[name]}",
                )
