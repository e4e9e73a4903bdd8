"""Whatever is asked, the answer is an answer: no 5xx, no silence, and every refusal a Status."""

import base64
import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.fuzz import strategies
from tests.fuzz.exchange import Exchange, Probe, assert_civil
from tests.kubectl.manifests import EXAMPLES, Example

FUZZ = settings.get_profile("fuzz")
# Large requests are wanted here; that one is long to print is no failure.
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")
_numbers = itertools.count()


def collection(example: Example) -> str:
    version = example.manifest["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    scope = "namespaces/default/" if example.namespaced else ""
    return f"{root}/{scope}{example.plural}"


def create(exchange: Exchange, example: Example) -> str:
    """A new object, and its path."""
    name = f"fuzz-{next(_numbers)}"
    body = json.dumps(example.named(name)).encode()
    headers = {"Content-Type": "application/json"}
    reply = exchange.send(
        Probe(method="POST", path=collection(example), headers=headers, body=body)
    )
    assert reply.code == 201, reply
    return f"{collection(example)}/{name}"


@FUZZ
@given(probe=strategies.PROBES)
def test_random_requests_are_answered(probe: Probe, exchange: Exchange) -> None:
    assert_civil(probe, exchange.send(probe))


@FUZZ
@given(
    manifest=strategies.damaged_manifest(),
    method=st.sampled_from(["POST", "PUT"]),
    query=st.sampled_from(
        ["", "?fieldValidation=Strict", "?dryRun=All", "?fieldValidation=Ignore"]
    ),
)
def test_manifests_that_are_a_little_wrong_are_answered(
    manifest: dict[str, Any], method: str, query: str, exchange: Exchange
) -> None:
    example = next(
        (each for each in EXAMPLES if each.manifest["kind"] == manifest.get("kind")), EXAMPLES[0]
    )
    path = collection(example) + ("/target" if method == "PUT" else "") + query
    headers = {"Content-Type": "application/json"}
    probe = Probe(method=method, path=path, headers=headers, body=json.dumps(manifest).encode())
    assert_civil(probe, exchange.send(probe))


@FUZZ
@given(
    example=st.sampled_from(EXAMPLES),
    form=st.sampled_from(["merge-patch", "strategic-merge-patch", "json-patch"]),
    body=st.one_of(
        strategies.JSON_PATCHES, strategies.MERGE_PATCHES, strategies.damaged_manifest()
    ),
    subresource=st.sampled_from(["", "", "/status", "/scale"]),
)
def test_random_patches_are_answered(
    *, example: Example, form: str, body: Any, subresource: str, exchange: Exchange
) -> None:
    path = create(exchange, example) + subresource
    headers = {"Content-Type": f"application/{form}+json"}
    probe = Probe(method="PATCH", path=path, headers=headers, body=json.dumps(body).encode())
    reply = exchange.send(probe)
    assert_civil(probe, reply)
    # Whatever the patch did, the object can still be read.
    read = exchange.send(Probe(method="GET", path=path.removesuffix(subresource)))
    assert read.code == 200, (probe, read)


@FUZZ
@given(
    body=strategies.PROTOBUF,
    path=strategies.resource_path(),
    method=st.sampled_from(["POST", "PUT", "PATCH", "DELETE"]),
)
def test_garbage_in_protobuf_is_answered(
    body: bytes, path: str, method: str, exchange: Exchange
) -> None:
    headers = {"Content-Type": "application/vnd.kubernetes.protobuf"}
    probe = Probe(method=method, path=path, headers=headers, body=body)
    assert_civil(probe, exchange.send(probe))


@FUZZ
@given(
    body=strategies.damaged_messages(),
    example=st.sampled_from(strategies.MESSAGES),
    method=st.sampled_from(["POST", "PUT", "DELETE"]),
    accept=strategies.ACCEPTS,
)
def test_damaged_messages_are_answered(
    *, body: bytes, example: Example, method: str, accept: str, exchange: Exchange
) -> None:
    path = collection(example) + ("" if method == "POST" else "/target")
    headers = {"Content-Type": "application/vnd.kubernetes.protobuf", "Accept": accept}
    probe = Probe(method=method, path=path, headers=headers, body=body)
    assert_civil(probe, exchange.send(probe))


MARKER = "correct-horse-battery-staple"


@FUZZ
@given(data=st.data())
def test_no_refusal_tells_what_a_secret_holds(data: st.DataObject, exchange: Exchange) -> None:
    damaged = data.draw(strategies.JSON)
    secret: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "target"},
        "stringData": {"password": MARKER},
        "data": {"token": base64.b64encode(MARKER.encode()).decode()},
        "type": "Opaque",
    }
    place = data.draw(st.sampled_from(["metadata", "type", "immutable", "data", "stringData"]))
    # The value is damaged, or stands where it does not belong.
    secret[place] = data.draw(st.sampled_from([damaged, {"password": [MARKER]}, [MARKER], MARKER]))
    body = json.dumps(secret).encode()
    if data.draw(st.booleans()):
        body = body[: data.draw(st.integers(0, len(body)))]
    path = "/api/v1/namespaces/default/secrets?fieldValidation=Strict&dryRun=All"
    probe = Probe(method="POST", path=path, headers={"Content-Type": "application/json"}, body=body)
    reply = exchange.send(probe)
    assert_civil(probe, reply)
    if reply.code >= 400 and place not in ("metadata", "type"):
        assert MARKER.encode() not in reply.body, reply


@FUZZ
@given(
    body=strategies.JSON,
    path=strategies.resource_path(),
    query=strategies.query(),
)
def test_random_delete_options_are_answered(
    body: Any, path: str, query: str, exchange: Exchange
) -> None:
    headers = {"Content-Type": "application/json"}
    probe = Probe(
        method="DELETE", path=path + query, headers=headers, body=json.dumps(body).encode()
    )
    assert_civil(probe, exchange.send(probe))


def test_stored_objects_stay_readable_after_all_this(exchange: Exchange) -> None:
    for example in EXAMPLES:
        for accept in ("application/json", "application/json;as=Table;v=v1;g=meta.k8s.io"):
            probe = Probe(method="GET", path=collection(example), headers={"Accept": accept})
            assert exchange.send(probe).code == 200, probe
