from typing import Any

import pytest

from plimsoll.api.cron_schedules import is_schedule
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.workloads.cron_job import RULES
from tests.apiserver.model.kinds.pods.objects import causes
from tests.apiserver.model.kinds.workloads.objects import a_template, a_workload

JOB = {"spec": {"template": a_template(restartPolicy="Never")}}


def a_cron_job(**spec: Any) -> Document:
    spec = {"schedule": "0 3 * * *", "jobTemplate": JOB} | spec
    return a_workload(RULES, "batch", "CronJob", **spec)


@pytest.mark.parametrize(
    "text", ["* * * * *", "*/5 0-6 1,15 jan-mar MON", "@daily", "@every 1h30m", "0 0 ? * ?"]
)
def test_schedules_are_understood(text: str) -> None:
    assert is_schedule(text)


@pytest.mark.parametrize(
    "text", ["", "* * * *", "60 * * * *", "* * 0 * *", "*/0 * * * *", "5-1 * * * *", "@never"]
)
def test_other_texts_are_no_schedules(text: str) -> None:
    assert not is_schedule(text)


def test_the_job_gets_its_own_defaults_when_it_is_made() -> None:
    spec = a_cron_job()["spec"]

    assert (spec["concurrencyPolicy"], spec["suspend"]) == ("Allow", False)
    assert "backoffLimit" not in spec["jobTemplate"]["spec"]
    assert spec["jobTemplate"]["spec"]["template"]["spec"]["dnsPolicy"] == "ClusterFirst"
    assert not causes(RULES.validate(a_cron_job()))


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        pytest.param({"schedule": "x"}, ("Invalid", "spec.schedule"), id="schedule"),
        pytest.param({"schedule": "TZ=UTC @daily"}, ("Invalid", "spec.schedule"), id="zone-inside"),
        pytest.param({"timeZone": "Local"}, ("Invalid", "spec.timeZone"), id="zone"),
        pytest.param(
            {"concurrencyPolicy": "X"}, ("NotSupported", "spec.concurrencyPolicy"), id="concurrency"
        ),
        pytest.param(
            {"jobTemplate": {"spec": {"template": a_template()}}},
            ("Required", "spec.jobTemplate.spec.template.spec.restartPolicy"),
            id="job",
        ),
    ],
)
def test_a_cron_job_with_one_fault_is_refused_for_it_alone(
    spec: dict[str, Any], refused: tuple[str, str]
) -> None:
    assert causes(RULES.validate(a_cron_job(**spec))) == {refused: 1}
