"""Limit ranges: the least, the most and the usual amount for one container, pod or claim."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from plimsoll.api.names import qualified_name_errors
from plimsoll.api.quantity import Quantity, parse_quantity
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.quantities import comparable_numbers
from plimsoll.apiserver.model.kinds.resource_names import (
    container_name_errors,
    is_overcommit_allowed,
    resource_name_errors,
)
from plimsoll.apiserver.model.kinds.rules import KindRules

TYPES = ("Pod", "Container", "PersistentVolumeClaim")
ONE = parse_quantity("1")


def default(limit_range: Document) -> None:
    for limit in limit_range.get("spec", {}).get("limits") or ():
        if limit.get("type") == "Container":
            _default_container(limit)


def _default_container(limit: Document) -> None:
    """What a container gets: the most as its limit, and of its limit or the least as request."""
    given = limit.get("max", {}) | limit.get("default", {})
    requested = limit.get("min", {}) | given | limit.get("defaultRequest", {})
    if given:
        limit["default"] = given
    if requested:
        limit["defaultRequest"] = requested


def validate(limit_range: Document) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, limit in enumerate(limit_range.get("spec", {}).get("limits") or ()):
        path = f"spec.limits[{index}]"
        kind = limit.get("type", "")
        yield from _type_errors(kind, f"{path}.type")
        if kind in seen:
            yield FieldError.duplicate(f"{path}.type", kind)
        seen.add(kind)
        yield from _name_errors(limit, path)
        yield from _presence_errors(limit, path)
        for resource in sorted(_resources(limit)):
            yield from _order_errors(_Amounts.read(limit, resource), path)


def validate_update(new: Document, _old: Document) -> Iterator[FieldError]:
    return validate(new)


def _type_errors(kind: str, path: str) -> Iterator[FieldError]:
    errors = qualified_name_errors(kind)
    for error in errors:
        yield FieldError.invalid(path, kind, error)
    if not errors and "/" not in kind and kind not in TYPES:
        yield FieldError.invalid(path, kind, "must be a standard limit type or fully qualified")


def _fields(limit: Document) -> tuple[str, ...]:
    always = ("max", "min", "maxLimitRequestRatio")
    return always if limit.get("type") == "Pod" else (*always, "default", "defaultRequest")


def _resources(limit: Document) -> set[str]:
    return {resource for field in _fields(limit) for resource in limit.get(field, {})}


def _name_errors(limit: Document, path: str) -> Iterator[FieldError]:
    of_containers = limit.get("type") in ("Pod", "Container")
    errors: Callable[[str, str], Iterator[FieldError]] = (
        container_name_errors if of_containers else resource_name_errors
    )
    for field in _fields(limit):
        for resource in limit.get(field, {}):
            yield from errors(resource, f"{path}.{field}[{resource}]")


def _presence_errors(limit: Document, path: str) -> Iterator[FieldError]:
    if limit.get("type") == "Pod":
        for field in ("default", "defaultRequest"):
            if limit.get(field):
                yield FieldError.forbidden(
                    f"{path}.{field}", "may not be specified when `type` is 'Pod'"
                )
    if limit.get("type") == "PersistentVolumeClaim":
        bounds = (limit.get("min", {}), limit.get("max", {}))
        if not any("storage" in amounts for amounts in bounds):
            yield FieldError.required(
                f"{path}.limits",
                "either minimum or maximum storage value is required, but neither was provided",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Amounts:
    """All that one limit says about one resource."""

    resource: str
    least: Quantity | None
    most: Quantity | None
    usual: Quantity | None
    requested: Quantity | None
    ratio: Quantity | None

    @classmethod
    def read(cls, limit: Document, resource: str) -> "_Amounts":
        def amount(field: str) -> Quantity | None:
            given = field in _fields(limit) and resource in limit.get(field, {})
            return parse_quantity(limit[field][resource]) if given else None

        return cls(
            resource=resource,
            least=amount("min"),
            most=amount("max"),
            usual=amount("default"),
            requested=amount("defaultRequest"),
            ratio=amount("maxLimitRequestRatio"),
        )


def _order_errors(amounts: _Amounts, path: str) -> Iterator[FieldError]:
    """Each line: what must not exceed what, and which field is to blame."""
    comparisons = (
        ("min", "min value", amounts.least, "max value", amounts.most),
        ("defaultRequest", "min value", amounts.least, "default request value", amounts.requested),
        ("defaultRequest", "default request value", amounts.requested, "max value", amounts.most),
        (
            "defaultRequest",
            "default request value",
            amounts.requested,
            "default limit value",
            amounts.usual,
        ),
        ("default", "min value", amounts.least, "default value", amounts.usual),
        ("default", "default value", amounts.usual, "max value", amounts.most),
    )
    for field, low_name, low, high_name, high in comparisons:
        if low is not None and high is not None and low > high:
            yield FieldError.invalid(
                f"{path}.{field}[{amounts.resource}]",
                str(low),
                f"{low_name} {low} is greater than {high_name} {high}",
            )
    yield from _ratio_errors(amounts, f"{path}.maxLimitRequestRatio[{amounts.resource}]")
    pair = (amounts.usual, amounts.requested)
    if not is_overcommit_allowed(amounts.resource) and None not in pair and pair[0] != pair[1]:
        yield FieldError.invalid(
            f"{path}.defaultRequest[{amounts.resource}]",
            str(amounts.requested),
            f"default value {amounts.usual} must equal to defaultRequest value "
            f"{amounts.requested} in {amounts.resource}",
        )


def _ratio_errors(amounts: _Amounts, path: str) -> Iterator[FieldError]:
    if amounts.ratio is None:
        return
    if amounts.ratio < ONE:
        yield FieldError.invalid(path, str(amounts.ratio), f"ratio {amounts.ratio} is less than 1")
    if amounts.least is None or amounts.most is None:
        return
    ratio, least, most, one = comparable_numbers(amounts.ratio, amounts.least, amounts.most, ONE)
    if not least:
        return
    widest = most / least
    if ratio / one > widest:
        yield FieldError.invalid(
            path, str(amounts.ratio), f"ratio {amounts.ratio} is greater than max/min = {widest:f}"
        )


RULES = KindRules(
    default=default,
    validate=validate,
    validate_update=validate_update,
    create_on_update=True,
    name_checked_on_update=True,
)
