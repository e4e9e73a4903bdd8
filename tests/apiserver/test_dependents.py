"""What a deletion says about the objects that the deleted one owns."""

from typing import Any

import pytest

from tests.apiserver.api import Api

NAMESPACES = "/api/v1/namespaces"
EVENTS = "/api/v1/namespaces/default/events"
JOBS = "/apis/batch/v1/namespaces/default/jobs"

Body = dict[str, Any]


def a_job(name: str) -> Body:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    return {"metadata": {"name": name}, "spec": {"template": {"spec": pod}}}


def an_event(name: str) -> Body:
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    return {"metadata": {"name": name}, "involvedObject": about}


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        ({}, None),
        ({"propagationPolicy": "Background"}, None),
        ({"propagationPolicy": "Orphan"}, ["orphan"]),
        ({"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
        ({"orphanDependents": True}, ["orphan"]),
        ({"orphanDependents": False}, ["foregroundDeletion"]),
    ],
)
async def test_a_namespace_waits_for_what_the_deletion_asks_for(
    api: Api, options: Body, finalizers: list[str] | None
) -> None:
    await api.ask("POST", NAMESPACES, {"metadata": {"name": "a"}})
    deleted = await api.ask("DELETE", f"{NAMESPACES}/a", options)
    assert deleted.document["status"]["phase"] == "Terminating"
    assert deleted.document["metadata"].get("finalizers") == finalizers


@pytest.mark.parametrize("policy", ["Orphan", "Foreground", "Background"])
async def test_events_own_nothing_and_go_at_once(api: Api, policy: str) -> None:
    await api.ask("POST", EVENTS, an_event("e"))
    await api.ask("DELETE", f"{EVENTS}/e", {"propagationPolicy": policy})
    assert (await api.ask("GET", f"{EVENTS}/e")).status == 404


async def test_the_pods_of_a_job_stay_unless_the_deletion_says_otherwise(api: Api) -> None:
    for name in ("kept", "cleared"):
        await api.ask("POST", JOBS, a_job(name))
    kept = await api.ask("DELETE", f"{JOBS}/kept")
    assert kept.document["metadata"]["finalizers"] == ["orphan"]
    cleared = await api.ask("DELETE", f"{JOBS}/cleared", {"propagationPolicy": "Background"})
    assert cleared.document["status"] == "Success"


async def test_a_job_without_labels_gets_those_of_its_pods(api: Api) -> None:
    job = (await api.ask("POST", JOBS, a_job("a"))).document
    pods = job["spec"]["template"]["metadata"]["labels"]
    assert job["metadata"]["labels"] == pods
    assert pods["batch.kubernetes.io/job-name"] == "a"
