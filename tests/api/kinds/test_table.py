from plimsoll.api.kinds.table import RULES, allows_plain_finalizers, rules_for
from plimsoll.api.registry import tables


def test_every_kind_of_the_table_is_served() -> None:
    served = {(resource.group, resource.kind) for resource in tables().resources}

    assert set(RULES) <= served


def test_a_kind_without_rules_of_its_own_still_has_a_name() -> None:
    rules = rules_for("example.com", "Widget")

    assert rules.name_errors("a.b", False) == []
    assert rules.name_errors("A", False) != []


def test_selectable_names_are_those_of_the_fields() -> None:
    assert [
        kind for kind, r in RULES.items() if set(r.selectable_fields({})) != r.selectable_names
    ] == []


def test_only_few_kinds_take_finalizers_without_a_domain() -> None:
    assert allows_plain_finalizers("coordination.k8s.io", "Lease")
    assert not allows_plain_finalizers("", "ConfigMap")
