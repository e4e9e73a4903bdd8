from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.workloads.daemon_set import RULES, TEMPLATE_GENERATION
from tests.apiserver.model.kinds.pods.objects import NOW, causes
from tests.apiserver.model.kinds.workloads.objects import (
    SELECTOR,
    a_template,
    a_workload,
    stored,
    with_spec,
)


def a_set(**spec: Any) -> Document:
    spec = {"selector": SELECTOR, "template": a_template()} | spec
    return a_workload(RULES, "apps", "DaemonSet", **spec)


def test_templates_are_counted_in_an_annotation() -> None:
    old = stored(RULES, a_set())
    new = with_spec(old, template=a_template(hostname="x"))
    same = with_spec(old)

    RULES.prepare_update(new, old, NOW)
    RULES.prepare_update(same, old, NOW)

    counts = [s["metadata"]["annotations"][TEMPLATE_GENERATION] for s in (old, new, same)]
    assert counts == ["1", "2", "1"]


@pytest.mark.parametrize(
    ("rolling", "refused"),
    [
        pytest.param({"maxUnavailable": 1, "maxSurge": 1}, ("Invalid", "maxSurge"), id="both"),
        pytest.param({"maxUnavailable": 0}, ("Required", "maxUnavailable"), id="neither"),
        pytest.param({"maxUnavailable": "101%"}, ("Invalid", "maxUnavailable"), id="too-much"),
    ],
)
def test_pods_are_replaced_before_or_after(
    rolling: dict[str, Any], refused: tuple[str, str]
) -> None:
    reason, field = refused
    new = a_set(updateStrategy={"rollingUpdate": rolling})

    assert causes(RULES.validate(new)) == {
        (reason, f"spec.updateStrategy.rollingUpdate.{field}"): 1
    }


def test_the_selector_is_not_empty() -> None:
    assert causes(RULES.validate(a_set(selector={}))) == {("Invalid", "spec.selector"): 1}
