from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.cluster.priority_class import RULES
from tests.apiserver.model.kinds.pods.objects import causes


def a_class(name: str = "high", **fields: Any) -> Document:
    document = {"metadata": {"name": name}, "value": 1000} | fields
    RULES.default(document)
    return document


def test_pods_of_a_class_preempt_others_unless_it_says_otherwise() -> None:
    assert a_class()["preemptionPolicy"] == "PreemptLowerPriority"
    assert not causes(RULES.validate(a_class()))


@pytest.mark.parametrize(
    ("document", "refused"),
    [
        pytest.param(a_class(value=2_000_000_000), ("Forbidden", "value"), id="too-high"),
        pytest.param(a_class("system-mine"), ("Forbidden", "metadata.name"), id="reserved-name"),
        pytest.param(a_class(preemptionPolicy="x"), ("NotSupported", "preemptionPolicy"), id="p"),
        pytest.param(a_class(preemptionPolicy=""), ("Required", "preemptionPolicy"), id="empty"),
    ],
)
def test_a_class_with_one_fault_is_refused_for_it_alone(
    document: Document, refused: tuple[str, str]
) -> None:
    assert causes(RULES.validate(document)) == {refused: 1}


def test_the_classes_of_the_system_are_accepted() -> None:
    assert not causes(RULES.validate(a_class("system-node-critical", value=2_000_001_000)))


def test_value_and_policy_never_change() -> None:
    new = a_class(value=5, preemptionPolicy="Never")

    assert causes(RULES.validate_update(new, a_class())) == {
        ("Forbidden", "value"): 1,
        ("Invalid", "preemptionPolicy"): 1,
    }
    assert not causes(RULES.validate_update(a_class(description="x"), a_class()))
