"""ClusterRoles that gather the rules of others by their labels; pure.

The order is that of kube-controller-manager, selector by selector and name by name: where it runs
as well, neither changes what the other wrote.
"""

from collections.abc import Callable, Iterable

import msgspec

from plimsoll.api.registry import Document
from plimsoll.api.selectors.label import LabelSelector, LabelSelectorSpec

FindRoles = Callable[[LabelSelector], Iterable[Document]]
"""The ClusterRoles that a selector matches, in the order of their names."""


def aggregated_rules(role: Document, find: FindRoles) -> list[Document]:
    """The rules that the role should have."""
    gathered: dict[bytes, Document] = {}
    for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
        parsed = LabelSelector.of(msgspec.convert(selector, LabelSelectorSpec))
        for other in find(parsed):
            if other["metadata"]["name"] == role["metadata"]["name"]:
                continue
            for rule in other.get("rules") or ():
                gathered.setdefault(msgspec.json.encode(rule, order="sorted"), rule)
    return list(gathered.values())


def is_aggregated(role: Document) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))
