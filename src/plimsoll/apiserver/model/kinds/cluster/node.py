"""Nodes: taints, pod address ranges, and capacity, which is the default of allocatable."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network, ip_network
from itertools import pairwise

from plimsoll.api.names import (
    SUBDOMAIN_LIMIT,
    label_value_errors,
    qualified_name_errors,
)
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import ErrorType, FieldError
from plimsoll.apiserver.model.kinds.repetition import repeated
from plimsoll.apiserver.model.kinds.resource_names import amount_errors
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_all_but_status, keep_status

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
TAINTS = "metadata.taints"
"""Where clients are told to look; the field itself is spec.taints."""

FEATURE = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")
POD_RANGES_LIMIT = 2
PREFIX_LENGTH = re.compile(r"0|[1-9][0-9]{0,2}")
FIXED_POD_RANGE = 'node updates may not change podCIDR except from "" to valid'


def default(node: Document) -> None:
    _mirror_pod_range(node.setdefault("spec", {}))
    status = node.setdefault("status", {})
    if "allocatable" not in status and "capacity" in status:
        status["allocatable"] = dict(status["capacity"])


def _mirror_pod_range(spec: Document) -> None:
    """`podCIDR` is the first of `podCIDRs`; where they disagree, the older field wins."""
    first = spec.get("podCIDR", "")
    ranges = spec.get("podCIDRs", [])
    if first and ranges[:1] != [first]:
        spec["podCIDRs"] = [first]
    elif ranges and not first:
        spec["podCIDR"] = ranges[0]


def prepare_create(node: Document, _now: datetime) -> None:
    """The kubelet no longer takes its configuration from the API."""
    node["spec"].pop("configSource", None)
    node["status"].pop("config", None)


def prepare_update(new: Document, old: Document, now: datetime) -> None:
    keep_status(new, old, now)
    if "configSource" not in old.get("spec", {}):
        new["spec"].pop("configSource", None)


def prepare_status(new: Document, old: Document, now: datetime) -> None:
    keep_all_but_status(new, old, now)
    if "config" not in old.get("status", {}):
        new["status"].pop("config", None)


def validate(node: Document) -> Iterator[FieldError]:
    yield from taint_errors(node["spec"].get("taints", ()))
    yield from _amounts_errors(node)
    yield from _feature_errors(node["status"].get("declaredFeatures", ()))
    yield from _swap_errors(node)
    yield from _pod_range_errors(node["spec"].get("podCIDRs", []))


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    yield from taint_errors(new["spec"].get("taints", ()))
    yield from _swap_errors(new)
    yield from _pod_range_errors(new["spec"].get("podCIDRs", []))
    yield from validate_status(new, old)


def validate_status(new: Document, old: Document) -> Iterator[FieldError]:
    yield from _amounts_errors(new)
    yield from _feature_errors(new["status"].get("declaredFeatures", ()))
    for index, address in repeated(new["status"].get("addresses", [])):
        yield FieldError.duplicate(f"status.addresses[{index}]", address)
    yield from _fixed_field_errors(new["spec"], old.get("spec", {}))


def _fixed_field_errors(new: Document, old: Document) -> Iterator[FieldError]:
    before, after = old.get("podCIDRs", []), new.get("podCIDRs", [])
    if before and len(before) != len(after):
        yield FieldError.forbidden("spec.podCIDRs", FIXED_POD_RANGE)
    elif before:
        for one, other in zip(before, after, strict=True):
            if one != other:
                yield FieldError.forbidden("spec.podCIDRs", FIXED_POD_RANGE)
    provider = old.get("providerID", "")
    if provider and new.get("providerID", "") != provider:
        yield FieldError.forbidden(
            "spec.providerID", 'node updates may not change providerID except from "" to valid'
        )
    if new.get("externalID", "") != old.get("externalID", ""):
        yield FieldError.forbidden("spec.externalID", "may not be updated")


def taint_errors(taints: Sequence[Document]) -> Iterator[FieldError]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        path = f"{TAINTS}[{index}]"
        key, effect = taint.get("key", ""), taint.get("effect", "")
        for error in qualified_name_errors(key):
            yield FieldError.invalid(f"{path}.key", key, error)
        value_errors = label_value_errors(taint.get("value", ""))
        if value_errors:
            yield FieldError.invalid(f"{path}.value", taint["value"], ";".join(value_errors))
        if not effect:
            yield FieldError.required(f"{path}.effect")
        elif effect not in EFFECTS:
            yield FieldError.not_supported(f"{path}.effect", effect, EFFECTS)
        if (key, effect) in seen:
            detail = "taints must be unique by key and effect pair"
            yield FieldError(ErrorType.DUPLICATE, path, detail, taint)
        seen.add((key, effect))


def _amounts_errors(node: Document) -> Iterator[FieldError]:
    for field in ("capacity", "allocatable"):
        for resource, amount in node["status"].get(field, {}).items():
            yield from amount_errors(resource, amount, f"status.{field}.{resource}")


def _feature_errors(features: Sequence[str]) -> Iterator[FieldError]:
    path = "status.declaredFeatures"
    for index, feature in enumerate(features):
        if len(feature) > SUBDOMAIN_LIMIT or not FEATURE.fullmatch(feature):
            yield FieldError.invalid(f"{path}[{index}]", feature, "is no name of a feature")
    for index, (one, following) in enumerate(pairwise(features), start=1):
        if one == following:
            yield FieldError.duplicate(f"{path}[{index}]", following)
        elif one > following:
            yield FieldError.invalid(
                f"{path}[{index}]", following, "list must be sorted alphabetically"
            )


def _swap_errors(node: Document) -> Iterator[FieldError]:
    capacity = node["status"].get("nodeInfo", {}).get("swap", {}).get("capacity")
    if capacity is not None and capacity <= 0:
        yield FieldError.invalid(
            "metadata.nodeSwapStatus.capacity", capacity, "must be greater than 0"
        )


def _pod_range_errors(ranges: Sequence[str]) -> Iterator[FieldError]:
    families = []
    for index, text in enumerate(ranges):
        network = _network(text)
        if network is None:
            yield FieldError.invalid(
                f"spec.podCIDRs[{index}]",
                text,
                "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
            )
        else:
            families.append(network.version)
    if len(ranges) > 1 and len(families) < len(ranges):
        yield FieldError(
            ErrorType.INTERNAL, "spec.podCIDRs", "cannot tell the address families apart"
        )
    if len(ranges) > 1 and (len(set(families)) < len(ranges) or len(ranges) > POD_RANGES_LIMIT):
        yield FieldError.invalid(
            "spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family"
        )


def _network(text: str) -> IPv4Network | IPv6Network | None:
    """A range of addresses with a plain prefix length and no bits beyond it."""
    _, _, length = text.partition("/")
    if not PREFIX_LENGTH.fullmatch(length):
        return None
    try:
        network = ip_network(text)
    except ValueError:
        return None
    mapped = isinstance(network, IPv6Network) and network.network_address.ipv4_mapped
    return None if mapped else network


def warnings(node: Document, _old: Document | None) -> list[str]:
    spec = node["spec"]
    found = []
    if "configSource" in spec:
        found.append("spec.configSource: the feature is removed")
    if spec.get("externalID"):
        found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
    for index, text in enumerate(spec.get("podCIDRs", ())):
        network = _network(text)
        if network is not None and str(network) != text:
            found.append(
                f'spec.podCIDRs[{index}]: IPv6 CIDR value "{text}" should be written "{network}"'
            )
    return found


def selectable_fields(node: Document) -> dict[str, str]:
    unschedulable = node.get("spec", {}).get("unschedulable", False)
    return {"spec.unschedulable": "true" if unschedulable else "false"}


RULES = KindRules(
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    prepare_status=prepare_status,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=warnings,
    selectable_fields=selectable_fields,
    name_checked_on_update=True,
)
