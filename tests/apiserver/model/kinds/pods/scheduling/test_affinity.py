from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.pods.scheduling.affinity import PREFERRED, REQUIRED
from tests.apiserver.model.kinds.pods.objects import a_pod, a_stored_pod, complaints

TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"a": "b"}},
}


def node_terms(**requirement: Any) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    return {"nodeAffinity": {REQUIRED: terms}}


@pytest.mark.parametrize(
    ("affinity", "refused"),
    [
        pytest.param(
            node_terms(key="a", operator="Eq", values=["b"]),
            (
                "Invalid",
                f"nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].operator",
            ),
            id="operator",
        ),
        pytest.param(
            {"nodeAffinity": {PREFERRED: [{"weight": 0, "preference": {}}]}},
            ("Invalid", f"nodeAffinity.{PREFERRED}[0].weight"),
            id="weight",
        ),
        pytest.param(
            {"podAffinity": {REQUIRED: [TERM | {"namespaces": ["N_"]}]}},
            ("Invalid", f"podAffinity.{REQUIRED}[0].namespace"),
            id="namespace",
        ),
        pytest.param(
            {"podAffinity": {REQUIRED: [{"topologyKey": "zone", "matchLabelKeys": ["a"]}]}},
            ("Forbidden", f"podAffinity.{REQUIRED}[0].matchLabelKeys"),
            id="keys-without-selector",
        ),
    ],
)
def test_affinity_with_one_fault_is_refused_for_it_alone(
    affinity: dict[str, Any], refused: tuple[str, str]
) -> None:
    reason, field = refused

    assert complaints(a_pod(affinity=affinity)) == {(reason, f"spec.affinity.{field}"): 1}


def test_a_missing_topology_key_is_missing_and_no_label() -> None:
    term: Document = {"labelSelector": {}}
    where = f"spec.affinity.podAntiAffinity.{REQUIRED}[0].topologyKey"

    found = complaints(a_pod(affinity={"podAntiAffinity": {REQUIRED: [term]}}))

    assert found == {("Required", where): 1, ("Invalid", where): 2}


def test_a_spread_constraint_says_what_it_needs() -> None:
    where = "spec.topologySpreadConstraints[0]"
    faulty = {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "X"}

    assert not complaints(a_pod(topologySpreadConstraints=[SPREAD]))
    assert complaints(a_pod(topologySpreadConstraints=[faulty])) == {
        ("Invalid", f"{where}.maxSkew"): 1,
        ("Required", f"{where}.topologyKey"): 1,
        ("NotSupported", f"{where}.whenUnsatisfiable"): 1,
    }


def test_two_constraints_of_one_kind_are_one_too_many() -> None:
    assert complaints(a_pod(topologySpreadConstraints=[SPREAD, SPREAD])) == {
        ("Duplicate", "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}"): 1
    }


def test_label_keys_take_their_values_from_the_pod_when_it_is_made() -> None:
    constraint = SPREAD | {"matchLabelKeys": ["hash", "missing"]}

    pod = a_stored_pod(meta={"labels": {"hash": "1"}}, topologySpreadConstraints=[constraint])

    assert pod["spec"]["topologySpreadConstraints"][0]["labelSelector"] == {
        "matchLabels": {"a": "b"},
        "matchExpressions": [{"key": "hash", "operator": "In", "values": ["1"]}],
    }
