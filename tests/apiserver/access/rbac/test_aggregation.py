"""ClusterRoles that gather rules from others."""

from plimsoll.api.registry import Document
from plimsoll.api.selectors.label import LabelSelector
from plimsoll.apiserver.access.rbac.aggregation import aggregated_rules, is_aggregated


def role(name: str, rules: list[Document], **labels: str) -> Document:
    return {"metadata": {"name": name, "labels": labels}, "rules": rules}


GET: Document = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
LIST: Document = {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}
ROLES = [role("a", [GET], one="1"), role("b", [LIST, GET], one="1", two="2"), role("c", [LIST])]


def find(selector: LabelSelector) -> list[Document]:
    return [each for each in ROLES if selector.matches(each["metadata"]["labels"])]


def gathering(*labels: dict[str, str]) -> Document:
    selectors = [{"matchLabels": each} for each in labels]
    return {"metadata": {"name": "b"}, "aggregationRule": {"clusterRoleSelectors": selectors}}


def test_rules_come_selector_by_selector_without_repetition() -> None:
    wanted = gathering({"two": "2"}, {"one": "1"}) | {"metadata": {"name": "all"}}
    assert aggregated_rules(wanted, find) == [LIST, GET]


def test_a_rule_that_a_role_repeats_is_gathered_once() -> None:
    repeating = role("r", [GET, LIST, GET])
    assert aggregated_rules(gathering({"one": "1"}), lambda _: [repeating]) == [GET, LIST]


def test_a_role_does_not_gather_from_itself() -> None:
    assert aggregated_rules(gathering({"one": "1"}), find) == [GET]


def test_a_rule_without_selectors_gathers_nothing() -> None:
    assert not is_aggregated({"aggregationRule": {"clusterRoleSelectors": []}})
    assert is_aggregated(gathering({"one": "1"}))
