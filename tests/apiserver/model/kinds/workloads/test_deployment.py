from collections import Counter
from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.workloads.deployment import RULES
from tests.apiserver.model.kinds.pods.objects import causes
from tests.apiserver.model.kinds.workloads.objects import (
    SELECTOR,
    a_template,
    a_workload,
    stored,
    with_spec,
)


def a_deployment(**spec: Any) -> Document:
    spec = {"selector": SELECTOR, "template": a_template()} | spec
    return a_workload(RULES, "apps", "Deployment", **spec)


def complaints(**spec: Any) -> Counter[tuple[str, str]]:
    return causes(RULES.validate(a_deployment(**spec)))


def test_a_deployment_rolls_a_quarter_at_a_time() -> None:
    spec = a_deployment()["spec"]

    assert spec["replicas"] == 1
    assert spec["progressDeadlineSeconds"] == 600
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        pytest.param({"replicas": -1}, ("Invalid", "spec.replicas"), id="replicas"),
        pytest.param(
            {"progressDeadlineSeconds": 5, "minReadySeconds": 5},
            ("Invalid", "spec.progressDeadlineSeconds"),
            id="deadline",
        ),
        pytest.param(
            {"strategy": {"type": "Recreate", "rollingUpdate": {}}},
            ("Forbidden", "spec.strategy.rollingUpdate"),
            id="recreate",
        ),
        pytest.param({"strategy": {"type": "X"}}, ("NotSupported", "spec.strategy"), id="strategy"),
        pytest.param(
            {"strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}},
            ("Invalid", "spec.strategy.rollingUpdate.maxUnavailable"),
            id="no-progress",
        ),
    ],
)
def test_a_deployment_with_one_fault_is_refused_for_it_alone(
    spec: dict[str, Any], refused: tuple[str, str]
) -> None:
    assert complaints(**spec) == {refused: 1}


def test_the_selector_may_not_change() -> None:
    old = stored(RULES, a_deployment())
    template = a_template(labels={"app": "web", "b": "c"})
    new = with_spec(
        a_deployment(template=template), selector={"matchLabels": {"app": "web", "b": "c"}}
    )

    assert causes(RULES.validate_update(new, old)) == {("Invalid", "spec.selector"): 1}
