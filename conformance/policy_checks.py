"""Admission policies on kube-apiserver and on the embedded server: the same answers to every write.

Every case has a namespace of its own, which its policy selects. All policies and bindings are
created first; one that denies everything in a namespace of its own is the last, and shows when the
real server, which follows them by watching, knows them all. Then every request of every case is
sent to both, and code, reason, message, causes and warnings are compared.

Policies that are refused are compared by code and by the fields that are at fault.
"""

import contextlib
import functools
import http.client
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from conformance.step import Say, Servers, tell
from plimsoll.api.registry import Document
from tests.servers import Endpoint

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
POLICIES, BINDINGS = (
    f"{ADMISSION}/validatingadmissionpolicies",
    f"{ADMISSION}/validatingadmissionpolicybindings",
)
MARKER = "policy-marker"
SETTLED_SECONDS = 30
PREFIX = "policy-case-"

Asked = tuple[str, str, Any]
"""Method, path below the namespace, body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCase:
    name: str
    spec: Document
    """Of the policy; the namespace is added."""
    bindings: tuple[Document, ...] = ()
    objects: tuple[tuple[str, Document], ...] = ()
    """Made before the policy: paths below the namespace, and bodies."""
    requests: tuple[Asked, ...] = ()
    rules: Document = field(
        default_factory=lambda: {
            "operations": ["CREATE", "UPDATE", "DELETE"],
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "resources": ["configmaps"],
        }
    )

    @property
    def namespace(self) -> str:
        return PREFIX + self.name


def a_map(name: str, **data: str) -> Document:
    return {"metadata": {"name": name}, "data": data}


def creating(*maps: Document) -> tuple[Asked, ...]:
    return tuple(("POST", "configmaps", each) for each in maps)


def rule(expression: str, **more: Any) -> Document:
    return {"expression": expression, **more}


def a_pod(name: str, image: str) -> Document:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "a", "image": image}]}}


DENY: Document = {"validationActions": ["Deny"]}
ON_OBJECTS = [{"name": "there", "expression": "object != null"}]
WEB: Document = {
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "a", "image": "a"}]},
        },
    },
}

CASES = (
    PolicyCase(
        name="plain",
        spec={"validations": [rule("object == null || object.data.a == 'b'")]},
        bindings=(DENY,),
        requests=(
            *creating(a_map("m", a="b"), a_map("n", a="c"), a_map("o", z="z")),
            ("POST", "configmaps?dryRun=All", a_map("dry", a="c")),
            ("PATCH", "configmaps/m", {"data": {"a": "x"}}),
            ("PUT", "configmaps/m", a_map("m", a="y")),
            ("DELETE", "configmaps/m", None),
        ),
    ),
    PolicyCase(
        name="messages",
        spec={
            "matchConditions": ON_OBJECTS,
            "variables": [
                {"name": "size", "expression": "size(object.data)"},
                {"name": "twice", "expression": "variables.size * 2"},
            ],
            "validations": [
                rule("variables.size < 3", message="at most two", reason="Forbidden"),
                rule(
                    "!('b' in object.data)",
                    message="not shown",
                    messageExpression="'twice the size is ' + string(variables.twice)",
                    reason="RequestEntityTooLarge",
                ),
                rule("!('c' in object.data)", message=" plain ", messageExpression="'' + ' '"),
            ],
        },
        bindings=(DENY,),
        requests=creating(
            a_map("a", a="1"),
            a_map("b", a="1", b="1", c="1"),
            a_map("c", b="1"),
            a_map("d", c="1"),
        ),
    ),
    PolicyCase(
        name="ignored",
        spec={"failurePolicy": "Ignore", "validations": [rule("object.data.missing == 'a'")]},
        bindings=(DENY,),
        requests=creating(a_map("a", a="1"), a_map("b", missing="b")),
    ),
    PolicyCase(
        name="warned",
        spec={"validations": [rule("object.data.a == 'b'", message="a is not b")]},
        bindings=({"validationActions": ["Warn", "Audit"]},),
        requests=creating(a_map("a", a="1"), a_map("b", a="b"), a_map("c", z="z")),
    ),
    PolicyCase(
        name="params",
        spec={
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "validations": [
                rule(
                    "object.metadata.name.startsWith('limit') || "
                    "size(object.data) <= int(params.data.most)",
                    messageExpression="'at most ' + params.data.most",
                )
            ],
        },
        bindings=(
            DENY | {"paramRef": {"name": "limit", "parameterNotFoundAction": "Deny"}},
            DENY
            | {
                "paramRef": {
                    "selector": {"matchLabels": {"limit": "yes"}},
                    "parameterNotFoundAction": "Allow",
                }
            },
        ),
        objects=(("configmaps", a_map("limit", most="2")),),
        requests=creating(a_map("a", a="1"), a_map("b", a="1", b="2", c="3")),
    ),
    PolicyCase(
        name="no-params",
        spec={
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "validations": [rule("params == null || true")],
        },
        bindings=(DENY | {"paramRef": {"name": "no", "parameterNotFoundAction": "Deny"}},),
        requests=creating(a_map("a", a="1")),
    ),
    PolicyCase(
        name="unknown-params",
        spec={
            "paramKind": {"apiVersion": "nobody.example.com/v1", "kind": "Limit"},
            "validations": [rule("true")],
        },
        bindings=(DENY | {"paramRef": {"name": "no", "parameterNotFoundAction": "Deny"}},),
        requests=creating(a_map("a", a="1")),
    ),
    PolicyCase(
        name="request",
        spec={
            "validations": [
                rule("request.userInfo.username == 'admin'", message="user"),
                rule("request.resource.resource == 'configmaps'", message="resource"),
                rule("request.kind.kind == 'ConfigMap' && !has(request.subResource)"),
                rule("namespaceObject.metadata.name == request.namespace", message="namespace"),
                rule("request.operation != 'DELETE'", message="no deletions"),
                rule("!request.dryRun", messageExpression="'dry run of ' + request.name"),
                rule("oldObject == null || oldObject.data.a == object.data.a", message="a stays"),
            ]
        },
        bindings=(DENY,),
        requests=(
            *creating(a_map("a", a="1")),
            ("POST", "configmaps?dryRun=All", a_map("b", a="1")),
            ("PATCH", "configmaps/a", {"data": {"a": "2"}}),
            ("PATCH", "configmaps/a", {"data": {"b": "2"}}),
            ("DELETE", "configmaps/a", None),
        ),
    ),
    PolicyCase(
        name="authorizer",
        spec={
            "matchConditions": ON_OBJECTS,
            "validations": [
                rule("authorizer.requestResource.check('create').allowed()"),
                rule(
                    "authorizer.serviceAccount(request.namespace, 'default').group('')"
                    ".resource('secrets').namespace(request.namespace).check('get').allowed()",
                    message="the account may not",
                ),
            ],
        },
        bindings=(DENY,),
        requests=creating(a_map("a", a="1")),
    ),
    PolicyCase(
        name="selected",
        spec={"validations": [rule("false", message="selected")]},
        bindings=(
            DENY | {"matchResources": {"objectSelector": {"matchLabels": {"bad": "yes"}}}},
            DENY
            | {
                "matchResources": {
                    "resourceRules": [
                        {
                            "operations": ["*"],
                            "apiGroups": ["*"],
                            "apiVersions": ["*"],
                            "resources": ["*"],
                            "resourceNames": ["named"],
                        }
                    ],
                    "excludeResourceRules": [
                        {
                            "operations": ["DELETE"],
                            "apiGroups": [""],
                            "apiVersions": ["v1"],
                            "resources": ["*"],
                        }
                    ],
                }
            },
        ),
        requests=creating(
            a_map("a", a="1"),
            {"metadata": {"name": "b", "labels": {"bad": "yes"}}},
            a_map("named", a="1"),
        ),
    ),
    PolicyCase(
        name="scaled",
        rules={
            "operations": ["*"],
            "apiGroups": ["apps"],
            "apiVersions": ["v1"],
            "resources": ["deployments", "deployments/scale"],
        },
        spec={
            "matchConditions": ON_OBJECTS,
            "validations": [
                rule(
                    "!has(object.spec.replicas) || object.spec.replicas < 4",
                    messageExpression="object.kind + ' of ' + string(object.spec.replicas)",
                )
            ],
        },
        bindings=(DENY,),
        requests=(
            ("POST", "/apis/apps/v1/deployments", WEB),
            ("PATCH", "/apis/apps/v1/deployments/web/scale", {"spec": {"replicas": 9}}),
            ("PATCH", "/apis/apps/v1/deployments/web/scale", {"spec": {"replicas": 3}}),
            ("PATCH", "/apis/apps/v1/deployments/web", {"spec": {"replicas": 8}}),
        ),
    ),
    PolicyCase(
        name="conditions",
        spec={
            "matchConditions": [
                {"name": "broken", "expression": "object.data.missing == 'a'"},
                {"name": "not-skipped", "expression": "object.metadata.name != 'skipped'"},
            ],
            "validations": [rule("false")],
        },
        bindings=(DENY,),
        requests=creating(a_map("a", a="1"), a_map("skipped", a="1")),
    ),
    PolicyCase(
        name="errors",
        spec={
            "matchConditions": ON_OBJECTS,
            "variables": [
                {"name": "number", "expression": "int(object.data.number)"},
                {"name": "most", "expression": "100 / variables.number"},
            ],
            "validations": [
                rule("object.metadata.labels.size() > 0 || variables.most > 1"),
            ],
        },
        bindings=(DENY,),
        requests=creating(a_map("a", number="50"), a_map("b", number="0"), a_map("c", x="1")),
    ),
)
MORE_CASES = (
    PolicyCase(
        name="nulls",
        spec={
            "validations": [
                rule("request.operation == 'CREATE' || oldObject.metadata.name != 'kept'"),
                rule("object.metadata.name != 'b'", message="not b"),
                rule("!has(oldObject.metadata) || oldObject.data.a == '1'", message="not 1"),
            ]
        },
        bindings=(DENY,),
        requests=(
            *creating(a_map("a", a="1"), a_map("b", a="1"), a_map("kept", a="1")),
            ("PATCH", "configmaps/kept", {"data": {"z": "2"}}),
            ("DELETE", "configmaps/a", None),
        ),
    ),
    PolicyCase(
        name="overloads",
        spec={
            "failurePolicy": "Fail",
            "matchConditions": ON_OBJECTS,
            "variables": [
                {"name": "number", "expression": "int(object.data.number)"},
                {"name": "most", "expression": "100 / variables.number"},
            ],
            "validations": [
                rule("variables.most > 1"),
                rule("!has(object.data.text) || object.data.text > 1"),
                rule("object.data.all(key, object.data[key] != 'bad')", message="a bad value"),
                rule("object.data.?missing.orValue('x') == 'x'"),
                rule("quantity('10Gi').compareTo(quantity(object.data.size)) > 0"),
            ],
        },
        bindings=(DENY,),
        requests=creating(
            a_map("a", number="50", size="1Gi"),
            a_map("b", number="0", size="1Gi"),
            a_map("c", number="x", size="1Gi"),
            a_map("d", size="1Gi"),
            a_map("e", number="50", size="1Gi", text="a"),
            a_map("f", number="50", size="1Gi", more="bad"),
            a_map("g", number="50", size="1Gi", missing="bad"),
            a_map("h", number="50", size="20Gi"),
            a_map("i", number="50", size="many"),
        ),
    ),
    PolicyCase(
        name="pods",
        rules={
            "operations": ["*"],
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "resources": ["pods", "pods/eviction", "pods/binding", "pods/status"],
        },
        spec={
            "matchConditions": ON_OBJECTS,
            "validations": [
                rule(
                    "!has(request.subResource)",
                    messageExpression="request.kind.kind + ' by ' + request.subResource "
                    "+ ' of ' + request.name + ' as ' + object.apiVersion",
                ),
                rule(
                    "request.kind.kind != 'Pod' || object.spec.containers.all(c, "
                    "c.image.startsWith('good/'))",
                    message="images are good ones",
                    reason="Forbidden",
                ),
            ],
        },
        bindings=(DENY,),
        requests=(
            ("POST", "pods", a_pod("a", "good/a")),
            ("POST", "pods", a_pod("b", "bad/a")),
            ("PATCH", "pods/a", {"metadata": {"labels": {"a": "b"}}}),
            ("PATCH", "pods/a/status", {"status": {"reason": "Tested"}}),
            (
                "POST",
                "pods/a/binding",
                {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}},
            ),
            ("POST", "pods/a/eviction", {"metadata": {"name": "a"}}),
            ("DELETE", "pods/a?gracePeriodSeconds=0", None),
        ),
    ),
)
ALL_CASES = CASES + MORE_CASES

REFUSED: tuple[tuple[str, Document], ...] = (
    ("syntax", {"validations": [rule("object.a ==")]}),
    ("undeclared", {"validations": [rule("objekt.a == 1"), rule("params.a == 1")]}),
    ("type", {"validations": [rule("object.a"), rule("1 + 1"), rule("'a'")]}),
    ("function", {"validations": [rule("nothing(object)")]}),
    ("request field", {"validations": [rule("request.object.a == 1")]}),
    ("variable", {"validations": [rule("variables.a == 1")]}),
    (
        "variable order",
        {
            "variables": [
                {"name": "a", "expression": "variables.b"},
                {"name": "b", "expression": "1"},
                {"name": "for", "expression": "1"},
            ],
            "validations": [rule("variables.c == 1")],
        },
    ),
    ("nothing", {}),
    ("message", {"validations": [rule("true", message="a\nb", messageExpression="1")]}),
    (
        "message authorizer",
        {
            "validations": [
                rule("true", messageExpression="string(authorizer.path('/').check('a'))")
            ]
        },
    ),
    ("reason", {"validations": [rule("true", reason="NotFound")]}),
    ("failure policy", {"failurePolicy": "Maybe", "validations": [rule("true")]}),
    ("conditions", {"matchConditions": [{"name": "a b", "expression": "1"}, {}]}),
    ("params", {"paramKind": {"apiVersion": "a/b/c"}, "validations": [rule("true")]}),
    ("annotation", {"auditAnnotations": [{"key": "a/b", "valueExpression": "1"}]}),
)
REFUSED_BINDINGS: tuple[tuple[str, Document], ...] = (
    ("empty", {}),
    ("actions", {"policyName": "a", "validationActions": ["Deny", "Warn", "Deny", "No"]}),
    ("params", {"policyName": "a_b", "validationActions": ["Deny"], "paramRef": {}}),
    (
        "both",
        DENY
        | {
            "policyName": "a",
            "paramRef": {"name": "a", "selector": {}, "parameterNotFoundAction": "No"},
        },
    ),
)


class PolicyClient:
    """One connection."""

    def __init__(self, endpoint: Endpoint, connection: http.client.HTTPSConnection) -> None:
        self._endpoint = endpoint
        self._connection = connection

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Document, list[str]]:
        """Code, document and warnings."""
        headers = self._endpoint.headers()
        if method == "PATCH":
            headers["Content-Type"] = "application/merge-patch+json"
        content = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path, content, headers)
        response = self._connection.getresponse()
        warnings = response.headers.get_all("Warning") or []
        return response.status, json.loads(response.read()), warnings


@contextlib.contextmanager
def _clients(servers: Servers) -> Iterator[tuple[PolicyClient, PolicyClient]]:
    with contextlib.ExitStack() as open_:
        made = []
        for endpoint in (servers.real, servers.embedded):
            connection = open_.enter_context(contextlib.closing(endpoint.connect()))
            made.append(PolicyClient(endpoint, connection))
        yield made[0], made[1]


def same_policies_on_both(servers: Servers) -> None:
    tell("both", functools.partial(_compare, servers))


def _compare(servers: Servers, say: Say) -> None:
    """Raises AssertionError with what differs."""
    with _clients(servers) as both:
        try:
            say("policies and bindings that are refused")
            differing = list(_differing_refusals(both))
            say("policies and bindings that are taken")
            for client in both:
                _prepare(client)
            for client in both:
                _wait(client)
            for case in ALL_CASES:
                say(f"writes: {case.name}")
                differing += _differing_answers(case, both)
        finally:
            for client in both:
                _clean(client)
    assert not differing, "\n".join(["both servers differ:", *differing])


def _policy(name: str, spec: Document, rules: Document, namespace: str) -> Document:
    match = {
        "resourceRules": [rules],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
    }
    return {"metadata": {"name": name}, "spec": {"matchConstraints": match} | spec}


def _marker() -> PolicyCase:
    return PolicyCase(
        name="marker", spec={"validations": [rule("false")]}, bindings=(DENY,), requests=()
    )


def _prepare(client: PolicyClient) -> None:
    cases = (*ALL_CASES, _marker())
    for case in cases:
        _made(client, "/api/v1/namespaces", {"metadata": {"name": case.namespace}})
        for path, body in case.objects:
            _made(client, _path(case, path), body)
    for case in cases:
        _made(client, POLICIES, _policy(case.namespace, case.spec, case.rules, case.namespace))
        for index, binding in enumerate(case.bindings):
            spec = {"policyName": case.namespace} | binding
            name = f"{case.namespace}-{index}"
            _made(client, BINDINGS, {"metadata": {"name": name}, "spec": spec})


def _made(client: PolicyClient, path: str, body: Document) -> None:
    code, answer, _ = client.ask("POST", path, body)
    assert code == http.client.CREATED, f"{path}: {code} {answer.get('message')}"


def _wait(client: PolicyClient) -> None:
    until = time.monotonic() + SETTLED_SECONDS
    path = _path(_marker(), "configmaps?dryRun=All")
    while time.monotonic() < until:
        if client.ask("POST", path, a_map("a"))[0] == http.client.UNPROCESSABLE_ENTITY:
            return
        time.sleep(0.2)
    raise AssertionError(f"the last policy is not heeded after {SETTLED_SECONDS} s")


def _clean(client: PolicyClient) -> None:
    for case in (*ALL_CASES, _marker()):
        for index, _ in enumerate(case.bindings):
            client.ask("DELETE", f"{BINDINGS}/{case.namespace}-{index}")
        client.ask("DELETE", f"{POLICIES}/{case.namespace}")
        client.ask("DELETE", f"/api/v1/namespaces/{case.namespace}")


def _path(case: PolicyCase, path: str) -> str:
    if not path.startswith("/"):
        return f"/api/v1/namespaces/{case.namespace}/{path}"
    group, _, rest = path.removeprefix("/apis/").partition("/v1/")
    return f"/apis/{group}/v1/namespaces/{case.namespace}/{rest}"


def _differing_refusals(both: tuple[PolicyClient, PolicyClient]) -> Iterator[str]:
    rules = _marker().rules
    asked = [
        *((name, POLICIES, _policy("refused", spec, rules, "none")) for name, spec in REFUSED),
        *(
            (name, BINDINGS, {"metadata": {"name": "refused"}, "spec": spec})
            for name, spec in REFUSED_BINDINGS
        ),
    ]
    for name, path, body in asked:
        real, ours = (_complaints(client.ask("POST", path, body)) for client in both)
        if real != ours:
            yield f"refused {name}:\n  real {real}\n  ours {ours}"


def _complaints(answer: tuple[int, Document, list[str]]) -> tuple[int, list[tuple[str, str]]]:
    """The code, and what is complained of where."""
    code, document, _ = answer
    causes = (document.get("details") or {}).get("causes") or []
    return code, sorted({(cause.get("reason", ""), cause.get("field", "")) for cause in causes})


def _differing_answers(case: PolicyCase, both: tuple[PolicyClient, PolicyClient]) -> Iterator[str]:
    for method, path, body in case.requests:
        real, ours = (_shown(client.ask(method, _path(case, path), body)) for client in both)
        if real != ours:
            yield f"{case.name}: {method} {path}:\n  real {real}\n  ours {ours}"


def _shown(answer: tuple[int, Document, list[str]]) -> Document:
    """All that a policy can have a say in."""
    code, document, warnings = answer
    shown: Document = {"code": code, "warnings": warnings}
    if document.get("kind") == "Status":
        causes = (document.get("details") or {}).get("causes")
        shown |= {"reason": document.get("reason"), "causes": causes}
        shown |= {"message": document.get("message")}
    return shown
