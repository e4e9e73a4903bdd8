"""Eviction: which pods go, what it costs their budget, and what clients are told otherwise."""

from typing import Any

import pytest

from plimsoll.api.registry import Document
from tests.apiserver.api import Api, Reply

PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
READY = [{"type": "Ready", "status": "True"}]


async def a_pod(api: Api, name: str = "web", phase: str = "Running", **status: Any) -> Document:
    spec = {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}
    metadata = {"name": name, "labels": {"app": "web"}}
    assert (await api.ask("POST", PODS, {"metadata": metadata, "spec": spec})).status == 201
    status = {"phase": phase, "conditions": READY} | status
    reply = await api.ask("PATCH", f"{PODS}/{name}/status", {"status": status})
    pod: Document = reply.document
    return pod


async def a_budget(api: Api, name: str = "budget", spec: Any = None, **status: Any) -> None:
    whole = {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 1} | (spec or {})
    created = await api.ask("POST", BUDGETS, {"metadata": {"name": name}, "spec": whole})
    assert created.status == 201, created
    counts = {"observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}
    body = {"status": counts | {"disruptionsAllowed": 1} | status}
    assert (await api.ask("PATCH", f"{BUDGETS}/{name}/status", body)).status == 200


async def evict(api: Api, name: str = "web", options: Any = None, **query: str) -> Reply:
    body: Document = {"metadata": {"name": name}} | ({"deleteOptions": options} if options else {})
    return await api.ask("POST", f"{PODS}/{name}/eviction", body, **query)


async def budget_status(api: Api, name: str = "budget") -> Document:
    status: Document = (await api.ask("GET", f"{BUDGETS}/{name}")).document["status"]
    return status


async def is_leaving(api: Api, name: str = "web") -> bool:
    reply = await api.ask("GET", f"{PODS}/{name}")
    return reply.status == 404 or "deletionTimestamp" in reply.document["metadata"]


async def test_a_pod_without_a_budget_is_marked_and_goes(api: Api) -> None:
    await a_pod(api)

    reply = await evict(api)

    assert (reply.status, reply.document["status"]) == (201, "Success")
    pod = (await api.ask("GET", f"{PODS}/web")).document
    marked = pod["status"]["conditions"][-1]
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 30
    assert (marked["type"], marked["status"]) == ("DisruptionTarget", "True")
    assert (marked["reason"], marked["message"]) == (
        "EvictionByEvictionAPI",
        "Eviction API: evicting",
    )


async def test_an_eviction_is_taken_from_the_budget_before_the_pod_goes(api: Api) -> None:
    await a_pod(api)
    await a_budget(api)

    assert (await evict(api)).status == 201

    status = await budget_status(api)
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["web"])
    told = status["conditions"][-1]
    assert (told["type"], told["status"]) == ("DisruptionAllowed", "False")
    assert told["reason"] == "InsufficientPods"


async def test_the_server_owns_what_it_writes_into_a_budget(api: Api) -> None:
    await a_pod(api)
    await a_budget(api)

    await evict(api)

    fields = (await api.ask("GET", f"{BUDGETS}/budget")).document["metadata"]["managedFields"]
    mine = next(entry for entry in fields if entry["manager"] == "kube-apiserver")
    assert mine["subresource"] == "status"
    assert {"f:disruptedPods", "f:disruptionsAllowed"} <= mine["fieldsV1"]["f:status"].keys()


@pytest.mark.parametrize(
    ("status", "said", "seconds"),
    [
        pytest.param(
            {"observedGeneration": 0},
            "The disruption budget budget is still being processed by the server.",
            10,
            id="its-last-change-is-not-counted-yet",
        ),
        pytest.param(
            {"disruptionsAllowed": 0, "currentHealthy": 1},
            "The disruption budget budget needs 1 healthy pods and has 1 currently",
            None,
            id="too-few-are-healthy",
        ),
        pytest.param(
            {
                "disruptionsAllowed": 0,
                "conditions": [
                    {
                        "type": "DisruptionAllowed",
                        "status": "False",
                        "reason": "SyncFailed",
                        "message": "no scale",
                        "lastTransitionTime": "2024-01-01T00:00:00Z",
                    }
                ],
            },
            "The disruption budget budget does not allow evicting pods currently because it failed "
            "sync: no scale",
            None,
            id="its-pods-cannot-be-counted",
        ),
    ],
)
async def test_a_refused_eviction_changes_nothing_and_says_why(
    api: Api, status: Document, said: str, seconds: int | None
) -> None:
    await a_pod(api)
    await a_budget(api, **status)
    before = await budget_status(api)

    reply = await evict(api)

    assert (reply.status, reply.document["reason"]) == (429, "TooManyRequests")
    assert reply.document["details"]["causes"] == [{"reason": "DisruptionBudget", "message": said}]
    assert reply.document["details"].get("retryAfterSeconds") == seconds
    assert not await is_leaving(api)
    assert await budget_status(api) == before


async def test_one_pod_with_two_budgets_is_not_supported(api: Api) -> None:
    await a_pod(api)
    await a_budget(api, "one")
    await a_budget(api, "two")

    reply = await evict(api)

    assert reply.status == 500
    assert "more than one PodDisruptionBudget" in reply.document["message"]
    assert not await is_leaving(api)


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
async def test_a_pod_that_serves_no_requests_needs_no_budget(api: Api, phase: str) -> None:
    await a_pod(api, phase=phase)
    await a_budget(api, disruptionsAllowed=0)

    assert (await evict(api)).status == 201
    assert await is_leaving(api)
    assert "disruptedPods" not in await budget_status(api)


@pytest.mark.parametrize(
    ("policy", "healthy", "status"),
    [
        pytest.param("AlwaysAllow", 0, 201, id="always"),
        pytest.param("IfHealthyBudget", 1, 201, id="enough-others-are-healthy"),
        pytest.param("IfHealthyBudget", 0, 429, id="too-few-others-are-healthy"),
        pytest.param(None, 1, 201, id="by-default-enough"),
        pytest.param(None, 0, 429, id="by-default-too-few"),
    ],
)
async def test_a_pod_that_is_not_ready_goes_as_the_policy_says(
    api: Api, policy: str | None, healthy: int, status: int
) -> None:
    await a_pod(api, conditions=[])
    spec = {} if policy is None else {"unhealthyPodEvictionPolicy": policy}
    await a_budget(api, spec=spec, disruptionsAllowed=0, currentHealthy=healthy)

    assert (await evict(api)).status == status
    assert await is_leaving(api) == (status == 201)
    assert (await budget_status(api))["disruptionsAllowed"] == 0


async def test_a_dry_run_costs_nothing(api: Api) -> None:
    await a_pod(api)
    await a_budget(api)
    before = await budget_status(api)

    assert (await evict(api, dryRun="All")).status == 201
    assert (await evict(api, options={"dryRun": ["All"]})).status == 201

    assert not await is_leaving(api)
    assert await budget_status(api) == before


async def test_options_of_the_deletion_are_kept(api: Api) -> None:
    pod = await a_pod(api)
    options = {"gracePeriodSeconds": 5, "preconditions": {"uid": pod["metadata"]["uid"]}}

    assert (await evict(api, options=options)).status == 201
    left = (await api.ask("GET", f"{PODS}/web")).document
    assert left["metadata"]["deletionGracePeriodSeconds"] == 5


@pytest.mark.parametrize("precondition", ["uid", "resourceVersion"])
async def test_a_precondition_that_does_not_hold_costs_no_budget(
    api: Api, precondition: str
) -> None:
    await a_pod(api)
    await a_budget(api)

    reply = await evict(api, options={"preconditions": {precondition: "1"}})

    assert (reply.status, reply.document["reason"]) == (409, "Conflict")
    assert not await is_leaving(api)
    assert (await budget_status(api))["disruptionsAllowed"] == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param({"metadata": {"name": "other"}}, 400, id="another-name"),
        pytest.param({"kind": "Pod", "metadata": {"name": "web"}}, 400, id="another-kind"),
        pytest.param(
            {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "web"}},
            201,
            id="the-older-version",
        ),
        pytest.param(
            {
                "metadata": {"name": "web"},
                "deleteOptions": {"ignoreStoreReadErrorWithClusterBreakingPotential": True},
            },
            422,
            id="unreadable-pods",
        ),
        pytest.param([], 400, id="a-list"),
    ],
)
async def test_evictions_are_read_strictly(api: Api, body: Any, status: int) -> None:
    await a_pod(api)

    assert (await api.ask("POST", f"{PODS}/web/eviction", body)).status == status
    assert await is_leaving(api) == (status == 201)
