from collections import Counter
from copy import deepcopy
from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.workloads.job import RULES
from tests.apiserver.model.kinds.pods.objects import causes
from tests.apiserver.model.kinds.workloads.objects import a_template, a_workload, stored


def a_job(**spec: Any) -> Document:
    spec = {"template": a_template(labels={}, restartPolicy="Never")} | spec
    return stored(RULES, a_workload(RULES, "batch", "Job", **spec))


def complaints(**spec: Any) -> Counter[tuple[str, str]]:
    return causes(RULES.validate(a_job(**spec)))


def test_a_job_finds_its_pods_by_its_own_uid() -> None:
    spec = a_job()["spec"]

    assert spec["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u1"}}
    assert spec["template"]["metadata"]["labels"] == {
        "batch.kubernetes.io/controller-uid": "u1",
        "controller-uid": "u1",
        "batch.kubernetes.io/job-name": "web",
        "job-name": "web",
    }
    assert not complaints()


def test_a_job_runs_once_and_tries_again_six_times() -> None:
    spec = a_job()["spec"]

    assert (spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (1, 1, 6)
    assert "completions" not in a_job(parallelism=2)["spec"]


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        pytest.param(
            {"template": a_template(labels={})},
            ("Required", "spec.template.spec.restartPolicy"),
            id="pods-that-never-end",
        ),
        pytest.param({"parallelism": -1}, ("Invalid", "spec.parallelism"), id="parallelism"),
        pytest.param(
            {"completionMode": "Indexed", "parallelism": 1},
            ("Required", "spec.completions"),
            id="indexed-without-end",
        ),
        pytest.param(
            {"backoffLimitPerIndex": 1}, ("Invalid", "spec.backoffLimitPerIndex"), id="per-index"
        ),
        pytest.param(
            {"podFailurePolicy": {"rules": [{"action": "Ignore"}]}},
            ("Invalid", "spec.podFailurePolicy.rules[0]"),
            id="rule-for-nothing",
        ),
        pytest.param({"managedBy": "x"}, ("Invalid", "spec.managedBy"), id="manager"),
    ],
)
def test_a_job_with_one_fault_is_refused_for_it_alone(
    spec: dict[str, Any], refused: tuple[str, str]
) -> None:
    assert complaints(**spec) == {refused: 1}


def test_labels_that_another_job_would_have_are_refused() -> None:
    labels = {"job-name": "other"}
    template = a_template(labels=labels, restartPolicy="Never")

    assert complaints(template=template) == {
        ("Invalid", "spec.template.metadata.labels[job-name]"): 1
    }


def test_a_job_chooses_its_nodes_only_while_it_waits() -> None:
    def refusals(**status: Any) -> Counter[tuple[str, str]]:
        old = a_job(suspend=True) | {"status": status}
        new = deepcopy(old)
        new["spec"]["template"]["spec"]["nodeSelector"] = {"a": "b"}
        return causes(RULES.validate_update(new, old))

    assert not refusals()
    assert refusals(startTime="2026-01-01T00:00:00Z") == {("Invalid", "spec.template"): 1}


def test_a_finished_job_stays_finished() -> None:
    old = a_job()
    old["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    new = deepcopy(old) | {"status": {}}

    assert causes(RULES.validate_status(new, old)) == {("Invalid", "status.conditions"): 1}
