"""Questions about identity and rights have true answers."""

from collections.abc import AsyncIterator

import pytest

from plimsoll.api.registry import Document
from tests.apiserver.access.people import READ_PODS, REVIEWS, a_person, allow, guarded
from tests.apiserver.api import Api

SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with guarded() as api:
        await allow(api, "ann", READ_PODS)
        yield api


def about(verb: str, resource: str, namespace: str = "default") -> Document:
    return {"resourceAttributes": {"verb": verb, "resource": resource, "namespace": namespace}}


def requirement(key: str, operator: str, *values: str) -> Document:
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


async def status(api: Api, plural: str, spec: Document, namespace: str = "") -> Document:
    place = f"/namespaces/{namespace}" if namespace else ""
    reply = await api.ask("POST", f"{REVIEWS}{place}/{plural}", {"spec": spec})
    assert reply.status == 201, reply.document
    found: Document = reply.document["status"]
    return found


async def test_users_ask_about_themselves(api: Api) -> None:
    ann = a_person(api, "ann")
    allowed = await status(ann, "selfsubjectaccessreviews", about("list", "pods"))
    assert allowed["allowed"]
    assert 'RoleBinding "ann-' in allowed["reason"]
    assert await status(ann, "selfsubjectaccessreviews", about("list", "secrets")) == {
        "allowed": False
    }
    assert not (await status(ann, "selfsubjectaccessreviews", about("list", "pods", "")))["allowed"]


async def test_only_those_who_may_ask_about_others(api: Api) -> None:
    spec = about("get", "pods") | {"user": "ann"}
    assert (await status(api, "subjectaccessreviews", spec))["allowed"]
    assert (await status(api, "localsubjectaccessreviews", spec, "default"))["allowed"]
    ann = a_person(api, "ann")
    refused = await ann.ask("POST", f"{REVIEWS}/subjectaccessreviews", {"spec": spec})
    assert refused.status == 403


async def test_a_local_review_is_about_its_namespace(api: Api) -> None:
    spec = about("get", "pods", "kube-system") | {"user": "ann"}
    path = f"{REVIEWS}/namespaces/default/localsubjectaccessreviews"
    assert (await api.ask("POST", path, {"spec": spec})).status == 422
    other = {"metadata": {"namespace": "kube-system"}, "spec": about("get", "pods")}
    assert (await api.ask("POST", path, other)).status == 400


async def test_paths_are_asked_about_as_well(api: Api) -> None:
    spec = {"nonResourceAttributes": {"verb": "get", "path": "/healthz"}}
    ann = a_person(api, "ann")
    assert (await status(ann, "selfsubjectaccessreviews", spec))["allowed"]
    spec = {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}}
    assert not (await status(ann, "selfsubjectaccessreviews", spec))["allowed"]


async def test_the_rules_of_a_namespace_are_listed(api: Api) -> None:
    ann = a_person(api, "ann")
    rules = await status(ann, "selfsubjectrulesreviews", {"namespace": "default"})
    assert READ_PODS in rules["resourceRules"]
    elsewhere = await status(ann, "selfsubjectrulesreviews", {"namespace": "kube-system"})
    assert READ_PODS not in elsewhere["resourceRules"]
    assert any("/healthz" in rule["nonResourceURLs"] for rule in rules["nonResourceRules"])
    assert not rules["incomplete"]
    everything = await status(api, "selfsubjectrulesreviews", {"namespace": "default"})
    assert everything["resourceRules"][0]["resources"] == ["*"]


def of_a_kubelet(selector: Document) -> Document:
    asked = {"verb": "list", "resource": "pods", "fieldSelector": selector}
    return {"user": "system:node:n1", "groups": ["system:nodes"], "resourceAttributes": asked}


@pytest.mark.parametrize(
    ("selector", "allowed"),
    [
        ({"rawSelector": "spec.nodeName=n1"}, True),
        ({"requirements": [requirement("spec.nodeName", "In", "n1")]}, True),
        ({"requirements": [requirement("spec.nodeName", "In", "n2")]}, False),
        ({"requirements": [requirement("spec.nodeName", "In", "n1", "n2")]}, False),
        ({"requirements": [requirement("spec.nodeName", "NotIn", "n1")]}, False),
        ({"requirements": [requirement("spec.nodeName", "Exists")]}, False),
        ({"requirements": [requirement("a,spec.nodeName", "In", "n1")]}, False),
    ],
)
async def test_a_selector_of_fields_counts_however_it_is_written(
    api: Api, selector: Document, *, allowed: bool
) -> None:
    answer = await status(api, "subjectaccessreviews", of_a_kubelet(selector))
    assert answer["allowed"] is allowed


@pytest.mark.parametrize(
    ("selector", "field"),
    [
        ({}, "requirements"),
        ({"rawSelector": "a=b", "requirements": [requirement("a", "In", "b")]}, "rawSelector"),
        ({"requirements": [requirement("a", "In")]}, "requirements[0].values"),
        ({"requirements": [requirement("a", "Exists", "b")]}, "requirements[0].values"),
        ({"requirements": [requirement("", "Exists")]}, "requirements[0].key"),
    ],
)
@pytest.mark.parametrize("kind", ["fieldSelector", "labelSelector"])
async def test_a_selector_that_says_nothing_or_too_much_is_refused(
    api: Api, selector: Document, field: str, kind: str
) -> None:
    spec = {"resourceAttributes": {"verb": "list", "resource": "pods", kind: selector}}
    reply = await api.ask("POST", f"{REVIEWS}/selfsubjectaccessreviews", {"spec": spec})
    assert reply.status == 422
    assert [cause["field"] for cause in reply.document["details"]["causes"]] == [
        f"spec.resourceAttributes.{kind}.{field}"
    ]


async def test_users_learn_who_they_are(api: Api) -> None:
    ann = a_person(api, "ann", "team")
    reply = await ann.ask("POST", SELF, {})
    info = reply.document["status"]["userInfo"]
    assert info == {"username": "ann", "groups": ["team", "system:authenticated"]}
    assert "creationTimestamp" in reply.document["metadata"]
