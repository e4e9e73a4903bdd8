"""ResourceQuotas: no namespace gets more objects or storage than it is allowed.

Usage is counted when a request asks for more, from the objects as they are then. It does not come
from `status.used`, which only tells people.
"""

from collections.abc import Mapping

from plimsoll.api.quantity import Quantity
from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.admission.quota.scopes import in_scope
from plimsoll.apiserver.admission.quota.usage import charge, limited_here, measured
from plimsoll.apiserver.model.status import forbidden

GROWING = ("persistentvolumeclaims", "services")


def check(attributes: Attributes) -> None:
    if not attributes.namespace or attributes.subresource or not _can_grow(attributes):
        return
    for quota in attributes.reader.list("", "resourcequotas", attributes.namespace):
        _check_quota(attributes, quota)


def _can_grow(attributes: Attributes) -> bool:
    """Of the objects that exist already, only claims and services can come to use more."""
    if not attributes.resource.group and attributes.resource.plural in GROWING:
        return attributes.operation is not Operation.DELETE
    return attributes.operation is Operation.CREATE


def _check_quota(attributes: Attributes, quota: Document) -> None:
    group, plural = attributes.resource.group, attributes.resource.plural
    hard = limited_here(quota, group, plural)
    if not hard or not in_scope(quota, group, plural, attributes.document):
        return
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
