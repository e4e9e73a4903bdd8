"""No request holds the event loop: all other clients are answered while it is worked on.

To add a hostile request, add a line to REQUESTS.
"""

import asyncio
import random
import sys
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from msgspec.structs import replace

from plimsoll.apiserver.inprocess import InProcessTransport
from plimsoll.apiserver.main import TURN_SECONDS, make_server, running
from plimsoll.apiserver.model import protobuf
from plimsoll.apiserver.model.messages.plans import message
from plimsoll.apiserver.model.messages.wire import Wire, written_field
from plimsoll.apiserver.storage.revisions import HistoryLimits
from plimsoll.apiserver.storage.sqlite_store import SqliteStore
from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.ids import seeded_ids
from plimsoll.wire.transport import Request, Response
from tests.apiserver.admission.policies.objects import (
    BINDINGS,
    POLICIES,
    a_binding,
    a_policy,
    a_rule,
)
from tests.apiserver.api import MAPS, a_map
from tests.apiserver.stalls import JSON, UNITS, get, patch, post, stall_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

OBJECTS = 5000
AGAIN = 3
"""So often a request that held it too long is sent again. One that holds it does so each time; but
a worker thread's own work counts too while the system lets the event loop's thread wait."""

YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
PODS = "/api/v1/namespaces/default/pods"
AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
AS_METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def keys(number: int) -> dict[str, str]:
    return {f"k{n}": "v" for n in range(number)}


def in_any_order(values: list[str]) -> list[str]:
    """Sorting takes longest when nothing is in order yet."""
    return random.Random(1).sample(values, len(values))


def with_meta(**metadata: Any) -> Any:
    return {"metadata": {"name": "x", **metadata}}


def pod(variables: int, name: str = "A") -> Any:
    env = [{"name": f"{name}{n}", "value": "x"} for n in range(variables)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i", "env": env}]},
    }


def packed(fields: bytes, kind_name: str = "ConfigMap") -> bytes:
    kind = message("k8s.io.apimachinery.pkg.runtime.TypeMeta").write(
        {"apiVersion": "v1", "kind": kind_name}
    )
    head = written_field(1, Wire.BYTES, kind)
    return protobuf.PREFIX + head + written_field(2, Wire.BYTES, fields)


OF_SECRETS = {
    "loops": a_policy(
        "loops",
        "object.stringData.all(a, object.stringData.all(b, object.stringData.all(c, a + b != c)))",
        rule=a_rule("secrets"),
        matchConditions=[{"name": "concerned", "expression": "object.type == 'loops'"}],
    ),
    "doubling": a_policy(
        "doubling",
        "variables.v30.all(x, x > 0)",
        rule=a_rule("secrets"),
        matchConditions=[{"name": "concerned", "expression": "object.type == 'doubling'"}],
        variables=[{"name": "v0", "expression": "[1, 2]"}]
        + [
            {"name": f"v{n + 1}", "expression": f"variables.v{n} + variables.v{n}"}
            for n in range(30)
        ],
    ),
    "many": a_policy(
        "many",
        *[f"object.metadata.name.matches('a{n}+') || true" for n in range(4000)],
        rule=a_rule("secrets"),
        matchConditions=[{"name": "concerned", "expression": "object.type == 'many'"}],
    ),
}
"""Policies that take long, for secrets of their own type."""


def a_secret(kind: str, size: int = 1) -> Request:
    body = {"metadata": {"generateName": "s-"}, "type": kind, "stringData": keys(size)}
    return post("/api/v1/namespaces/default/secrets", body)


def empty(number: int) -> list[Any]:
    """Objects in which all that is required is missing: nothing takes longer for its bytes."""
    return [{}] * number


def pod_of(**spec: Any) -> Any:
    return {
        "metadata": {"name": "s"},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }


def job_with_codes(codes: list[int]) -> Any:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": codes}}
    template = {"spec": pod_of(restartPolicy="Never")["spec"]}
    return with_meta() | {"spec": {"template": template, "podFailurePolicy": {"rules": [rule]}}}


def addresses(number: int) -> list[str]:
    return [f"10.0.{n // 250}.{n % 250}" for n in range(number)]


SMALL_BYTES = 32 * 1024
"""A body may be so large and be decided on the event loop, if there are few values in it."""
SMALL: dict[str, Callable[[], Request]] = {
    "exit-codes-of-a-job": lambda: post(
        "/apis/batch/v1/namespaces/default/jobs", job_with_codes([1, 2, 3, 4] * 2500)
    ),
    "distinct-exit-codes-of-a-job": lambda: post(
        "/apis/batch/v1/namespaces/default/jobs", job_with_codes(list(range(6000)))
    ),
    "scopes-of-a-quota": lambda: post(
        "/api/v1/namespaces/default/resourcequotas",
        with_meta() | {"spec": {"scopes": [f"s{n}" for n in range(3000)], "hard": {"pods": "1"}}},
    ),
    "scopes-and-limits-of-a-quota": lambda: post(
        "/api/v1/namespaces/default/resourcequotas",
        with_meta()
        | {
            "spec": {
                "scopes": ["BestEffort"] * 1000,
                "hard": {f"requests.storage{n}": "1" for n in range(500)},
            }
        },
    ),
    "addresses-of-a-slice": lambda: post(
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        with_meta() | {"addressType": "IPv4", "endpoints": [{"addresses": addresses(2000)}]},
    ),
    "endpoints-of-a-slice": lambda: post(
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        with_meta()
        | {"addressType": "IPv4", "endpoints": [{"addresses": ["127.0.0.1"]} for _ in range(900)]},
    ),
    "addresses-of-endpoints": lambda: post(
        "/api/v1/namespaces/default/endpoints",
        with_meta() | {"subsets": [{"addresses": empty(10_000)}]},
    ),
    "addresses-of-a-service": lambda: post(
        "/api/v1/namespaces/default/services",
        with_meta() | {"spec": {"ports": [{"port": 80}], "externalIPs": addresses(2000)}},
    ),
    "ports-of-a-service": lambda: post(
        "/api/v1/namespaces/default/services", with_meta() | {"spec": {"ports": empty(10_000)}}
    ),
    "containers-of-a-pod": lambda: post(PODS, pod_of(containers=empty(10_000))),
    "named-containers-of-a-pod": lambda: post(
        PODS, pod_of(containers=[{"name": f"c{n}", "image": "i"} for n in range(1000)])
    ),
    "mounts-of-a-pod": lambda: post(
        PODS, pod_of(containers=[{"name": "c", "image": "i", "volumeMounts": empty(10_000)}])
    ),
    "affinity-of-a-pod": lambda: post(
        PODS,
        pod_of(
            affinity={
                "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": empty(10_000)}
            }
        ),
    ),
    "taints-of-a-node": lambda: post(
        "/api/v1/nodes", with_meta() | {"spec": {"taints": empty(10_000)}}
    ),
    "limits-of-a-range": lambda: post(
        "/api/v1/namespaces/default/limitranges", with_meta() | {"spec": {"limits": empty(10_000)}}
    ),
    "short-finalizers": lambda: post(MAPS, with_meta(finalizers=["a"] * 8000)),
    "containers-in-protobuf": lambda: post(
        PODS, packed(written_field(2, Wire.BYTES, b"\x12\x00" * 8000), "Pod"), PROTOBUF
    ),
    "containers-in-yaml": lambda: post(
        PODS, b"metadata: {name: p}\nspec: {containers: [" + b"{}," * 1300 + b"]}", YAML
    ),
    "few-containers": lambda: post(PODS, pod_of(containers=empty(290))),
    "few-containers-in-protobuf": lambda: post(
        PODS, packed(written_field(2, Wire.BYTES, b"\x12\x00" * 450), "Pod"), PROTOBUF
    ),
    "little-affinity": lambda: post(
        PODS,
        pod_of(
            affinity={
                "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": empty(280)}
            }
        ),
    ),
    "few-addresses-of-a-service": lambda: post(
        "/api/v1/namespaces/default/services",
        {"metadata": {"name": "few"}}
        | {"spec": {"ports": [{"port": 80}], "externalIPs": addresses(550)}},
    ),
    "few-expressions-of-a-claim": lambda: post(
        "/api/v1/namespaces/default/persistentvolumeclaims",
        with_meta() | {"spec": {"selector": {"matchExpressions": empty(290)}}},
    ),
}
"""Requests that are not large, and have many values; the last ones are decided on the loop."""

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "x"}
APPLIED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}}
ENTRY = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}

REQUESTS: dict[str, Callable[[], Request]] = SMALL | {
    "policy-with-loops": lambda: a_secret("loops", 200),
    "policy-that-doubles-lists": lambda: a_secret("doubling"),
    "policy-with-many-rules": lambda: a_secret("many"),
    "policy-of-many-expressions": lambda: post(
        POLICIES, a_policy("large", *["object.a.b.c == 1 && object.d[0] in ['a']"] * 20_000)
    ),
    "policy-of-one-long-expression": lambda: post(
        POLICIES, a_policy("long", "object.a == '" + "a" * 1_000_000 + "'")
    ),
    "policy-with-a-long-list": lambda: post(
        POLICIES, a_policy("list", f"[{','.join(['1'] * 200_000)}].all(x, x > 0)")
    ),
    "yaml-many-keys": lambda: post(
        MAPS,
        b"metadata: {name: y}\ndata:\n" + b"".join(b" k%d: v\n" % n for n in range(35000)),
        YAML,
    ),
    "yaml-nested-lists": lambda: post(MAPS, b"[" * 350_000, YAML),
    "yaml-nested-mappings": lambda: post(MAPS, b"{a: " * 90_000, YAML),
    "yaml-nested-dashes": lambda: post(MAPS, b"- " * 170_000, YAML),
    "yaml-directives": lambda: post(
        MAPS, b"".join(b"%%TAG !%d! x\n" % n for n in range(30000)), YAML
    ),
    "yaml-long-number": lambda: post(MAPS, b"a: " + b"1:" * 170_000 + b"1", YAML),
    "yaml-aliases": lambda: post(MAPS, b"a: &a [x]\nb: [" + b"*a," * 100_000 + b"]", YAML),
    "protobuf-empty-fields": lambda: post(MAPS, packed(b"\x1a\x00" * 1_500_000), PROTOBUF),
    "protobuf-map-entries": lambda: post(MAPS, packed(b"\x12\x00" * 1_500_000), PROTOBUF),
    "json-empty-objects": lambda: post(MAPS, b'{"a":[' + b"{}," * 1_000_000 + b"{}]}"),
    "json-nested": lambda: post(MAPS, b'{"a":' * 500_000),
    "json-many-keys": lambda: post(MAPS, with_meta() | {"data": keys(90_000)}),
    "json-repeated-keys": lambda: post(MAPS, b'{"data":{' + b'"a":"b",' * 90_000 + b'"a":"b"}}'),
    "json-unknown-fields": lambda: post(MAPS, keys(90_000)),
    "json-commas-in-a-string": lambda: post(MAPS, with_meta() | {"data": {"a": "," * 2_900_000}}),
    "finalizers": lambda: post(MAPS, with_meta(finalizers=[f"a.b/{n}" for n in range(90_000)])),
    "finalizers-in-any-order": lambda: post(
        MAPS, with_meta(finalizers=in_any_order([f"a.b/{n}" for n in range(90_000)]))
    ),
    "labels": lambda: post(MAPS, with_meta(labels=keys(90_000))),
    "labels-in-any-order": lambda: post(
        MAPS, with_meta(labels=dict.fromkeys(in_any_order(list(keys(90_000))), "v"))
    ),
    "owners": lambda: post(
        MAPS, with_meta(ownerReferences=[OWNER | {"uid": str(n)} for n in range(19_000)])
    ),
    "managed-fields": lambda: post(
        MAPS, with_meta(managedFields=[ENTRY | {"fieldsV1": {f"f:{n}": {} for n in range(45_000)}}])
    ),
    "pod-with-many-variables": lambda: post(PODS, pod(30_000)),
    "pod-with-many-invalid-variables": lambda: post(PODS, pod(30_000, name="=")),
    "pod-with-many-invalid-variables-as-yaml": lambda: replace(
        post(PODS, pod(30_000, name="=")),
        headers={"content-type": JSON, "accept": YAML},
    ),
    "apply-many-keys": lambda: patch(
        f"{MAPS}/applied", "apply-patch+yaml", APPLIED | {"data": keys(90_000)}
    ),
    "json-patch-inserts": lambda: patch(
        f"{MAPS}/m-0",
        "json-patch+json",
        [{"op": "add", "path": "/l", "value": list(range(50_000))}]
        + [{"op": "add", "path": "/l/0", "value": 1}] * 9_999,
    ),
    "json-patch-copies": lambda: patch(
        f"{MAPS}/m-0",
        "json-patch+json",
        [{"op": "copy", "from": "/data", "path": "/x"}] * 10_000,
    ),
    "strategic-patch-of-a-keyed-list": lambda: patch(
        f"{PODS}/kept",
        "strategic-merge-patch+json",
        {"spec": {"containers": [{"name": f"c{n}", "image": "i"} for n in range(30_000)]}},
    ),
    "small-patch-of-a-large-object": lambda: patch(
        f"{MAPS}/large", "merge-patch+json", {"metadata": {"labels": {"a": "b"}}}
    ),
    "label-selector-values": lambda: get(
        MAPS, labelSelector=f"app in ({','.join(f'v{n}' for n in range(8000))})"
    ),
    "label-selector-conditions": lambda: get(
        MAPS, labelSelector=",".join(f"a{n}!=b" for n in range(490))
    ),
    "field-selector-conditions": lambda: get(
        MAPS, fieldSelector=",".join("metadata.name!=b" for n in range(490))
    ),
    "list": lambda: get(MAPS),
    "list-as-yaml": lambda: get(MAPS, YAML),
    "list-as-table": lambda: get(MAPS, AS_TABLE),
    "list-as-metadata": lambda: get(MAPS, AS_METADATA),
    "large-object-as-yaml": lambda: get(f"{MAPS}/large", YAML),
    "delete-collection": lambda: Request(
        method="DELETE", path="/api/v1/namespaces/doomed/configmaps"
    ),
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[InProcessTransport]:
    """A server that stores on disk, as the real one, and has something to list."""
    turn_seconds = sys.getswitchinterval()
    sys.setswitchinterval(TURN_SECONDS)
    store = SqliteStore(tmp_path_factory.mktemp("stalls") / "objects.db")
    server = make_server(store, SystemClock(), seeded_ids(1), HistoryLimits())
    async with running(server):
        client = InProcessTransport(server)
        await expect(201, client, post("/api/v1/namespaces", {"metadata": {"name": "doomed"}}))
        for namespace in ("default", "doomed"):
            path = f"/api/v1/namespaces/{namespace}/configmaps"
            bodies = [post(path, a_map(f"m-{n}", "x" * 200, {"app": "a"})) for n in range(OBJECTS)]
            await asyncio.gather(*(expect(201, client, body) for body in bodies))
        large = a_map("large") | {"data": keys(50_000)}
        await expect(201, client, post(MAPS, large))
        kept = pod(1000)
        kept["metadata"]["name"] = "kept"
        await expect(201, client, post(PODS, kept))
        for name, policy in OF_SECRETS.items():
            await expect(201, client, post(POLICIES, policy))
            await expect(201, client, post(BINDINGS, a_binding(name)))
        yield client
    sys.setswitchinterval(turn_seconds)


async def expect(status: int, client: InProcessTransport, request: Request) -> Response:
    response = await client.request(request)
    assert response.status == status, response.body[:500]
    return response


async def take_back(request: Request, response: Response, client: InProcessTransport) -> None:
    """What the request has created, so that the same request is the same work again."""
    if request.method == "POST" and response.status == HTTPStatus.CREATED:
        name = msgspec.json.decode(response.body)["metadata"]["name"]
        await client.request(Request(method="DELETE", path=f"{request.path}/{name}"))


@pytest.mark.parametrize("name", REQUESTS)
async def test_the_event_loop_is_not_held_by(
    name: str, client: InProcessTransport, capsys: pytest.CaptureFixture[str]
) -> None:
    request = REQUESTS[name]()
    response, took, stall = await stall_of(request, client)
    for _ in range(AGAIN):
        if stall < UNITS:
            break
        await take_back(request, response, client)
        again, _, next_stall = await stall_of(request, client)
        if again.status == response.status:  # else it was other work, as for a name that is taken
            stall = min(stall, next_stall)
    with capsys.disabled():
        print(
            f"\n{name:34}{len(request.body):9} bytes → {response.status}: "
            f"{took * 1000:7.0f} ms of work, longest stall {stall:5.1f} units",
            end="",
        )
    assert response.status < 500
    assert stall < UNITS


@pytest.mark.parametrize("name", SMALL)
async def test_what_is_called_small_is(name: str) -> None:
    assert len(SMALL[name]().body) <= SMALL_BYTES
