"""ResourceQuotas: no namespace gets more objects, storage, cpu or memory than it is allowed.

Usage is that of the objects as they are when a request asks for more. It does not come from
`status.used`, which only tells people.
"""

from collections.abc import Mapping

from plimsoll.api.quantity import Quantity
from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.admission.quota.charges import charge
from plimsoll.apiserver.admission.quota.compute import find_missing
from plimsoll.apiserver.admission.quota.scopes import in_scope, is_terminating
from plimsoll.apiserver.admission.quota.usage import limited_here, measured
from plimsoll.apiserver.model.status import forbidden

PODS = "pods"
GROWING = ("persistentvolumeclaims", "services")


def check(attributes: Attributes) -> None:
    if not attributes.namespace or not _can_grow(attributes):
        return
    group, plural = attributes.resource.group, attributes.resource.plural
    concerned = [
        (quota, hard)
        for quota in attributes.reader.list("", "resourcequotas", attributes.namespace)
        if (hard := limited_here(quota, group, plural))
        and in_scope(quota, group, plural, attributes.document)
    ]
    if (group, plural) == ("", PODS):
        for quota, hard in concerned:
            _check_said(attributes, quota, hard)
    for quota, hard in concerned:
        _check_quota(attributes, quota, hard)


def _can_grow(attributes: Attributes) -> bool:
    """Of the objects that exist already, claims and services can come to use more; pods if they are
    resized, or come to be limited in time, which is a scope of quotas."""
    if attributes.resource.group or attributes.operation is not Operation.UPDATE:
        return attributes.operation is Operation.CREATE and not attributes.subresource
    if attributes.resource.plural == PODS:
        return attributes.subresource == "resize" or _changes_scope(attributes)
    return not attributes.subresource and attributes.resource.plural in GROWING


def _changes_scope(attributes: Attributes) -> bool:
    if attributes.subresource or attributes.old is None:
        return False
    return is_terminating(attributes.old) != is_terminating(attributes.document)


def _check_said(attributes: Attributes, quota: Document, hard: Mapping[str, Quantity]) -> None:
    missing = find_missing(attributes.document, hard)
    if missing is not None:
        why = f"failed quota: {quota['metadata']['name']}: {missing}"
        raise forbidden(attributes.resource, attributes.name, why)


def _check_quota(attributes: Attributes, quota: Document, hard: Mapping[str, Quantity]) -> None:
    requested = {name: more for name, more in _more(attributes, quota).items() if name in hard}
    used = measured(quota, attributes.reader, requested)
    exceeded = [name for name, more in requested.items() if hard[name] < used[name] + more]
    if exceeded:
        raise forbidden(
            attributes.resource,
            attributes.name,
            f"exceeded quota: {quota['metadata']['name']}, "
            f"requested: {_shown(requested, exceeded)}, "
            f"used: {_shown(used, exceeded)}, limited: {_shown(hard, exceeded)}",
        )


def _more(attributes: Attributes, quota: Document) -> Mapping[str, Quantity]:
    """What the request would use up beyond what the object uses already."""
    group, plural = attributes.resource.group, attributes.resource.plural
    charged = charge(group, plural, attributes.document)
    before = {}
    if attributes.old is not None and in_scope(quota, group, plural, attributes.old):
        before = charge(group, plural, attributes.old)
    grown = {name: n - before[name] if name in before else n for name, n in charged.items()}
    return {name: amount for name, amount in grown.items() if amount.sign > 0}


def _shown(amounts: Mapping[str, Quantity], names: list[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(names))
