from collections import Counter
from copy import deepcopy
from datetime import UTC, datetime

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.cluster.node import RULES
from tests.apiserver.model.kinds.complaints import complaints

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def a_node(spec: Document | None = None, status: Document | None = None) -> Document:
    node: Document = {"metadata": {"name": "n"}, "spec": spec or {}, "status": status or {}}
    RULES.default(node)
    return node


@pytest.mark.parametrize(
    ("taints", "expected"),
    [
        pytest.param([{"key": "a", "effect": "X"}], [("NotSupported", "[0].effect")], id="effect"),
        pytest.param([{"key": "a"}], [("Required", "[0].effect")], id="no-effect"),
        pytest.param([{"effect": "NoSchedule"}], [("Invalid", "[0].key")] * 2, id="no-key"),
        pytest.param(
            [{"key": "a", "value": "a b" * 40, "effect": "NoExecute"}],
            [("Invalid", "[0].value")],
            id="two-faults-of-a-value-are-one-cause",
        ),
        pytest.param(
            [
                {"key": "a", "effect": "NoExecute"},
                {"key": "a", "value": "b", "effect": "NoExecute"},
            ],
            [("Duplicate", "[1]")],
            id="same-key-and-effect",
        ),
        pytest.param(
            [{"key": "a", "effect": "NoExecute"}, {"key": "a", "effect": "NoSchedule"}],
            [],
            id="same-key-other-effect",
        ),
    ],
)
def test_taints_are_checked_where_clients_expect_the_complaints(
    taints: list[Document], expected: list[tuple[str, str]]
) -> None:
    found = complaints(RULES.validate(a_node({"taints": taints})))

    assert found == Counter((reason, f"metadata.taints{field}") for reason, field in expected)


def test_the_older_pod_range_wins_over_the_newer() -> None:
    node = a_node({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.1.0/24"]})

    assert node["spec"]["podCIDRs"] == ["10.0.0.0/24"]


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        pytest.param(["10.0.0.0/24", "fd00::/64"], [], id="one-of-each-family"),
        pytest.param(["x"], [("Invalid", "spec.podCIDRs[0]")], id="no-range"),
        pytest.param(["10.0.0.1/24"], [("Invalid", "spec.podCIDRs[0]")], id="one-host-of-it"),
        pytest.param(["10.0.0.0/024"], [("Invalid", "spec.podCIDRs[0]")], id="leading-zero"),
        pytest.param(["::ffff:1.0.0.0/120"], [("Invalid", "spec.podCIDRs[0]")], id="mapped"),
        pytest.param(
            ["10.0.0.0/24", "10.0.1.0/24"], [("Invalid", "spec.podCIDRs")], id="same-family"
        ),
    ],
)
def test_pod_ranges_are_one_for_each_family(
    ranges: list[str], expected: list[tuple[str, str]]
) -> None:
    assert complaints(RULES.validate(a_node({"podCIDRs": ranges}))) == Counter(expected)


def test_what_a_node_has_is_what_it_can_give_away() -> None:
    node = a_node(status={"capacity": {"cpu": "4"}})

    assert node["status"]["allocatable"] == {"cpu": "4"}


def test_amounts_are_neither_negative_nor_broken_pods() -> None:
    node = a_node(status={"capacity": {"cpu": "-4", "pods": "1500m"}, "allocatable": {}})

    found = complaints(RULES.validate(node))

    fields = ("status.capacity.cpu", "status.capacity.pods")
    assert found == Counter(("Invalid", field) for field in fields)


def test_a_pod_range_and_a_provider_are_set_once() -> None:
    old = a_node({"podCIDR": "10.0.0.0/24", "providerID": "a://b"})
    new = a_node({"podCIDR": "10.0.1.0/24", "providerID": "c://d"})

    found = complaints(RULES.validate_update(new, old))

    assert found == Counter([("Forbidden", "spec.podCIDRs"), ("Forbidden", "spec.providerID")])
    assert complaints(RULES.validate_update(old, a_node())) == Counter()


def test_the_same_address_twice_is_refused_on_update_only() -> None:
    address = {"type": "Hostname", "address": "a"}
    node = a_node(status={"addresses": [address, address]})

    assert complaints(RULES.validate(node)) == Counter()
    found = complaints(RULES.validate_status(node, a_node()))
    assert found == Counter([("Duplicate", "status.addresses[1]")])


def test_declared_features_are_names_in_order() -> None:
    node = a_node(status={"declaredFeatures": ["B", "A", "A", "low"]})

    assert complaints(RULES.validate(node)) == Counter(
        [
            ("Invalid", "status.declaredFeatures[1]"),
            ("Duplicate", "status.declaredFeatures[2]"),
            ("Invalid", "status.declaredFeatures[3]"),
        ]
    )


def test_a_write_to_the_node_leaves_its_status_alone() -> None:
    old = a_node(status={"capacity": {"cpu": "1"}})
    new = deepcopy(old)
    new["status"] = {"capacity": {"cpu": "2"}}

    RULES.prepare_update(new, old, NOW)

    assert new["status"] == old["status"]


def test_nodes_are_selected_by_whether_they_take_pods() -> None:
    node = a_node({"unschedulable": True})

    assert RULES.selectable_fields(node) == {"spec.unschedulable": "true"}
    assert RULES.selectable_fields(a_node()) == {"spec.unschedulable": "false"}
