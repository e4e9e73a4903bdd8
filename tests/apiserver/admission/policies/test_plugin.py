"""What policies say of a request, with the other objects of the cluster in view."""

from typing import Any

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.authorizer import AccessControl, AuthorizationMode
from plimsoll.apiserver.access.users import SERVER, User
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.admission.policies.limits import PolicyAdmission, PolicyTimeNeededError
from plimsoll.apiserver.admission.policies.plugin import check
from plimsoll.apiserver.admission.webhooks.calls import WebhookCalls
from plimsoll.apiserver.model.status import ApiError
from tests.apiserver.admission.policies.objects import a_binding, a_policy, a_rule
from tests.apiserver.admission.requests import a_request, an_object

NAMESPACE = {"kind": "Namespace", "metadata": {"name": "default", "labels": {"team": "red"}}}
ANN = User(name="ann", groups=("people",), uid="7")


def asked(document: Document, *objects: Document, **more: Any) -> Attributes:
    request = a_request(document, NAMESPACE, *objects, **more)
    access = AccessControl(modes=(AuthorizationMode.ALWAYS_DENY,))
    return msgspec.structs.replace(
        request,
        policies=PolicyAdmission(),
        requester=ANN,
        user=ANN.name,
        access=access,
        calls=WebhookCalls(),
    )


def a_map(name: str = "a", labels: dict[str, str] | None = None, **data: str) -> Document:
    made = an_object("ConfigMap", name, data=data)
    made["metadata"]["labels"] = labels or {}
    return made


def refusal(policy: Document, document: Document, *objects: Document, **binding: Any) -> str:
    """Why the creation of the document is denied; empty when it is not."""
    try:
        check(asked(document, policy, a_binding("p", **binding), *objects))
    except ApiError as error:
        return str(error).partition("denied request: ")[2]
    return ""


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("request.userInfo.username == 'ann' && request.userInfo.uid == '7'", True),
        ("'people' in request.userInfo.groups", True),
        ("request.operation == 'CREATE' && oldObject == null", True),
        ("request.name == 'a' && request.namespace == 'default'", True),
        ("has(request.subResource)", False),
        ("request.kind == {'group': '', 'version': 'v1', 'kind': 'ConfigMap'}", True),
        (
            "request.resource.resource == 'configmaps' && request.options.kind == 'CreateOptions'",
            True,
        ),
        ("object.kind == 'ConfigMap' && object.apiVersion == 'v1'", True),
        ("namespaceObject.metadata.labels.team == 'red'", True),
        ("has(namespaceObject.spec.finalizers) || request.dryRun", False),
        ("authorizer.requestResource.check('create').allowed()", False),
        ("authorizer.path('/healthz').check('get').reason() == 'Everything is forbidden.'", True),
    ],
)
def test_an_expression_sees_the_request(expression: str, holds: bool) -> None:  # noqa: FBT001
    policy = a_policy("p", f"({expression}) == {str(holds).lower()}")
    assert refusal(policy, a_map()) == ""


def test_the_message_is_made_written_or_the_expression() -> None:
    validations = [
        {"expression": "object.data.a != '1'", "messageExpression": "'made ' + object.data.a"},
        {"expression": "object.data.a != '2'", "messageExpression": "' '", "message": " written "},
        {"expression": "object.data.a != '3'", "messageExpression": "object.none"},
    ]
    policy = a_policy("p", validations=validations)
    assert refusal(policy, a_map(a="1")) == "made 1"
    assert refusal(policy, a_map(a="2")) == "written"
    assert refusal(policy, a_map(a="3")) == "failed expression: object.data.a != '3'"


@pytest.mark.parametrize(
    ("reason", "code"), [("Forbidden", 403), ("RequestEntityTooLarge", 413), ("Invalid", 422)]
)
def test_the_reason_says_the_code(reason: str, code: int) -> None:
    policy = a_policy("p", validations=[{"expression": "false", "reason": reason}])
    with pytest.raises(ApiError) as denied:
        check(asked(a_map(), policy, a_binding("p")))
    assert (denied.value.code, denied.value.reason) == (code, reason)


def test_a_failing_expression_denies_unless_failures_are_ignored() -> None:
    said = "expression 'object.none == 1' resulted in error: no such key: none"
    assert refusal(a_policy("p", "object.none == 1"), a_map()) == said
    assert refusal(a_policy("p", "object.none == 1", failurePolicy="Ignore"), a_map()) == ""


def test_a_condition_that_does_not_hold_decides_whatever_is_wrong_with_others() -> None:
    broken = {"name": "broken", "expression": "object.none == 1"}
    names = {"name": "named", "expression": "object.metadata.name == 'a'"}
    policy = a_policy("p", "false", matchConditions=[broken, names])
    assert refusal(policy, a_map("b")) == ""
    assert "no such key: none" in refusal(policy, a_map("a"))


@pytest.mark.parametrize(
    ("match", "matches"),
    [
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "red"}}}, True, id="namespace"),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "b"}}}, False, id="another"),
        pytest.param({"objectSelector": {"matchLabels": {"app": "web"}}}, True, id="object"),
        pytest.param({"objectSelector": {"matchLabels": {"app": "b"}}}, False, id="other-object"),
        pytest.param({"excludeResourceRules": [a_rule("*")]}, False, id="excluded"),
        pytest.param({"resourceRules": [a_rule("pods")]}, False, id="other-resource"),
        pytest.param({"resourceRules": [a_rule("configmaps/status")]}, False, id="subresource"),
        pytest.param({"resourceRules": [a_rule(operations=["UPDATE"])]}, False, id="operation"),
        pytest.param({"resourceRules": [a_rule(apiVersions=["v2"])]}, False, id="version"),
        pytest.param({"resourceRules": [a_rule(scope="Cluster")]}, False, id="scope"),
        pytest.param({"resourceRules": [a_rule(resourceNames=["a"])]}, True, id="name"),
        pytest.param({"resourceRules": [a_rule(resourceNames=["b"])]}, False, id="other-name"),
        pytest.param({}, True, id="all"),
    ],
)
def test_policy_and_binding_both_have_to_match(match: Document, matches: bool) -> None:  # noqa: FBT001
    document = a_map(labels={"app": "web"})
    bound = refusal(a_policy("p", "false"), document, matchResources=match)
    constraints = {"resourceRules": [a_rule()]} | match
    own = refusal(a_policy("p", "false", matchConstraints=constraints), document)
    assert (bool(bound), bool(own)) == (matches, matches)


LIMITED = a_policy(
    "p",
    "size(object.data) <= int(params.data.most)",
    paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
)
THREE = a_map(a="", b="", c="")


def reference(**more: Any) -> Document:
    return {"parameterNotFoundAction": "Deny", **more}


def test_parameters_are_found_by_name_in_the_namespace_of_the_request() -> None:
    two, three = a_map("two", most="2"), a_map("three", most="3")
    elsewhere = a_map("three", most="1")
    elsewhere["metadata"]["namespace"] = "elsewhere"
    objects = (two, three, elsewhere)
    assert refusal(LIMITED, THREE, *objects, paramRef=reference(name="three")) == ""
    assert refusal(LIMITED, THREE, *objects, paramRef=reference(name="two")) != ""
    other = reference(name="three", namespace="elsewhere")
    assert refusal(LIMITED, THREE, *objects, paramRef=other) != ""


def test_every_parameter_that_a_selector_takes_counts() -> None:
    limits = [a_map(f"limit-{n}", {"limit": "yes"}, most=str(n)) for n in (5, 2)]
    chosen = reference(selector={"matchLabels": {"limit": "yes"}})
    assert refusal(LIMITED, THREE, limits[0], paramRef=chosen) == ""
    assert refusal(LIMITED, THREE, *limits, paramRef=chosen) != ""


def test_parameters_that_are_not_there_deny_or_are_allowed() -> None:
    said = refusal(LIMITED, THREE, paramRef=reference(name="none"))
    assert said == (
        "failed to configure binding: no params found for policy binding with `Deny` "
        "parameterNotFoundAction"
    )
    allowed = {"name": "none", "parameterNotFoundAction": "Allow"}
    assert refusal(LIMITED, THREE, paramRef=allowed) == ""


def test_a_kind_of_parameters_that_is_not_known_is_told() -> None:
    policy = a_policy("p", "true", paramKind={"apiVersion": "a.b/v1", "kind": "Toy"})
    with pytest.raises(ApiError) as denied:
        check(asked(a_map(), policy, a_binding("p", paramRef=reference(name="a"))))
    assert str(denied.value).endswith(
        "ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find "
        "resource referenced by paramKind: 'a.b/v1, Kind=Toy'"
    )


def test_the_server_itself_is_not_asked_about() -> None:
    request = asked(a_map(), a_policy("p", "false"), a_binding("p"))
    check(msgspec.structs.replace(request, requester=SERVER))


def test_a_user_of_the_name_of_the_server_is_asked_about() -> None:
    request = asked(a_map(), a_policy("p", "false"), a_binding("p"))
    namesake = User(name=SERVER.name, groups=SERVER.groups)
    with pytest.raises(ApiError):
        check(msgspec.structs.replace(request, user=SERVER.name, requester=namesake))


def test_annotations_of_several_bindings_are_told_together() -> None:
    policy = a_policy(
        "p",
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        auditAnnotations=[
            {"key": "most", "valueExpression": "string(params.data.most)"},
            {"key": "nothing", "valueExpression": "null"},
        ],
    )
    bindings = [a_binding("p", paramRef=reference(name=name)) for name in ("two", "three")]
    bindings[1]["metadata"]["name"] = "q"
    request = asked(a_map(), policy, *bindings, a_map("two", most="2"), a_map("three", most="3"))
    check(request)
    assert request.calls.audit_annotations == {"p/most": "2, 3"}


def test_on_the_event_loop_a_long_evaluation_stops() -> None:
    slow = a_policy("p", "object.data.all(a, object.data.all(b, a + b != ''))")
    many = a_map() | {"data": {f"k{n}": "" for n in range(200)}}
    request = asked(many, slow, a_binding("p"))
    check(request)
    brief = msgspec.structs.replace(request, policies=request.policies.brief())
    with pytest.raises(PolicyTimeNeededError):
        check(brief)


def test_a_deletion_shows_the_object_as_the_old_one() -> None:
    policy = a_policy("p", "object == null && oldObject.kind == 'ConfigMap' && false")
    request = asked(a_map(), policy, a_binding("p"), operation=Operation.DELETE)
    with pytest.raises(ApiError, match="failed expression: object == null"):
        check(request)
