"""Numbers with thousands of digits are refused like any other text that is no number."""

import pytest

from plimsoll.api.registry import Document
from tests.apiserver.api import MAPS, Api, a_map

LONG = "1" * 5000
PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
CRON_JOBS = "/apis/batch/v1/namespaces/default/cronjobs"
NAMED: Document = {"name": "a"}
CONTAINERS = [{"name": "c", "image": "i"}]
TEMPLATE = {"spec": {"containers": CONTAINERS, "restartPolicy": "Never"}}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param(
            PODS,
            {
                "metadata": NAMED
                | {"annotations": {"controller.kubernetes.io/pod-deletion-cost": LONG}},
                "spec": {"containers": CONTAINERS},
            },
            id="cost-of-a-deletion",
        ),
        pytest.param(BUDGETS, {"metadata": NAMED, "spec": {"minAvailable": LONG}}, id="number"),
        pytest.param(
            BUDGETS, {"metadata": NAMED, "spec": {"minAvailable": f"{LONG}%"}}, id="share"
        ),
        pytest.param(
            CRON_JOBS,
            {
                "metadata": NAMED,
                "spec": {
                    "schedule": f"{LONG} * * * *",
                    "jobTemplate": {"spec": {"template": TEMPLATE}},
                },
            },
            id="schedule",
        ),
        pytest.param(
            "/api/v1/nodes",
            {"metadata": NAMED, "spec": {"podCIDR": f"1.2.3.0/{LONG}"}},
            id="range-of-addresses",
        ),
    ],
)
async def test_they_are_refused_in(api: Api, path: str, body: Document) -> None:
    assert (await api.ask("POST", path, body)).status == 422


async def test_no_version_of_an_object_has_so_many(api: Api) -> None:
    await api.create("a")
    changed = a_map("a", "other")
    changed["metadata"]["resourceVersion"] = LONG

    assert (await api.ask("PUT", f"{MAPS}/a", changed)).status == 400


async def test_a_version_of_pod_security_may_be_long_and_is_only_read(api: Api) -> None:
    labels = {"pod-security.kubernetes.io/enforce-version": f"v1.{LONG}"}
    reply = await api.ask("POST", "/api/v1/namespaces", {"metadata": NAMED | {"labels": labels}})

    assert reply.status == 422
