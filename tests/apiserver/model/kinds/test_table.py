import pytest

from plimsoll.api.registry import builtin_resources
from plimsoll.apiserver.model.kinds.table import RULES, rules_for


def test_every_kind_of_the_table_is_served() -> None:
    served = {(resource.group, resource.kind) for resource in builtin_resources()}

    assert set(RULES) <= served


def test_a_kind_without_rules_of_its_own_still_has_a_name() -> None:
    rules = rules_for("example.com", "Widget")

    assert rules.name_errors("a.b", False) == []
    assert rules.name_errors("A", False) != []


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("Namespace", {"status.phase"}),
        ("Node", {"spec.unschedulable"}),
        ("Secret", {"type"}),
        ("Service", {"spec.clusterIP", "spec.type"}),
    ],
)
def test_a_kind_knows_what_field_selectors_may_name(kind: str, names: set[str]) -> None:
    assert rules_for("", kind).selectable_names == names


def test_only_few_kinds_take_finalizers_without_a_domain() -> None:
    assert rules_for("coordination.k8s.io", "Lease").plain_finalizers
    assert rules_for("", "Event").plain_finalizers
    assert not rules_for("events.k8s.io", "Event").plain_finalizers
    assert not rules_for("", "ConfigMap").plain_finalizers


def test_every_stored_kind_has_its_rules() -> None:
    stored = {(r.group, r.kind) for r in builtin_resources() if "list" in r.verbs}

    assert stored - set(RULES) == {("", "ComponentStatus")}
