"""Requests that no sane client sends, and many that are only a little wrong."""

import gzip
import json
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from plimsoll.api.registry import Resource, all_resources
from plimsoll.apiserver.model import protobuf
from tests.fuzz.exchange import Probe
from tests.kubectl.manifests import EXAMPLES

METHODS = st.sampled_from(
    ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "NONSENSE"]
)
RESOURCES = st.sampled_from(all_resources())
WORDS = st.text(max_size=12)
NAMES = st.one_of(
    st.sampled_from(["target", "default", "kube-system", "a" * 254, "UPPER", "-", ".", "..", "%"]),
    WORDS,
)
MEDIA_TYPES = st.one_of(
    st.sampled_from(
        [
            "application/json",
            "application/yaml",
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml",
            "application/vnd.kubernetes.protobuf",
            "application/cbor",
            "text/plain",
            "application/json; charset=latin-9",
            ";;;",
            "",
        ]
    ),
    st.from_regex(r"[a-z*]{0,6}/[a-z*]{0,6}(;[a-z]=[a-z])?", fullmatch=True),
)
ACCEPTS = st.one_of(
    MEDIA_TYPES,
    st.sampled_from(
        [
            "*/*",
            "application/json;as=Table;v=v1;g=meta.k8s.io",
            "application/json;as=Table;v=v9;g=meta.k8s.io, text/html;q=x",
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            "application/json;stream=watch",
            "application/vnd.kubernetes.protobuf",
            "application/vnd.kubernetes.protobuf;stream=watch,application/json;stream=watch",
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/yaml",
            "," * 50,
        ]
    ),
)

NUMBERS = st.one_of(
    st.integers(),
    st.integers(-(1 << 70), 1 << 70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0, -1, 1 << 31, 1 << 63, -(1 << 63) - 1, 1e308]),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=30))
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=12,
)


@st.composite
def query(draw: st.DrawFn) -> str:
    names = st.sampled_from(QUERY_NAMES)
    pairs = draw(st.lists(st.tuples(st.one_of(names, WORDS), QUERY_VALUES), max_size=4))
    text = "&".join(f"{quote(name)}={quote(value)}" for name, value in pairs)
    return draw(st.sampled_from(["", f"?{text}", f"?{text}&&=", "?%zz=%", "?" + "a=b&" * 50]))


QUERY_NAMES = [
    "limit",
    "continue",
    "resourceVersion",
    "resourceVersionMatch",
    "labelSelector",
    "fieldSelector",
    "fieldManager",
    "fieldValidation",
    "dryRun",
    "force",
    "gracePeriodSeconds",
    "propagationPolicy",
    "orphanDependents",
    "timeoutSeconds",
    "watch",
    "allowWatchBookmarks",
    "sendInitialEvents",
    "pretty",
    "includeObject",
]
QUERY_VALUES = st.one_of(
    st.sampled_from(
        [
            "",
            "0",
            "1",
            "-1",
            "true",
            "abc",
            "9999999999999999999999",
            "Exact",
            "NotOlderThan",
            "All",
            "Strict",
            "a=b,c in (d,e),!f",
            "a in (",
            "metadata.name=target",
            "spec.nodeName==x,,",
            "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ",
            "x" * 2000,
            "\x00",
        ]
    ),
    WORDS,
)


@st.composite
def resource_path(draw: st.DrawFn) -> str:
    """A path that the server knows, down to where it may stop knowing."""
    resource = draw(RESOURCES)
    parts = [collection(resource)]
    if draw(st.booleans()):
        parts.append(quote(draw(NAMES), safe=""))
        if draw(st.booleans()):
            known = ["status", "scale", "binding", "eviction", "log", "finalize", "token"]
            parts.append(quote(draw(st.one_of(st.sampled_from(known), WORDS)), safe=""))
    return "/".join(parts)


def collection(resource: Resource, namespace: str = "default") -> str:
    where = f"namespaces/{namespace}/" if resource.namespaced else ""
    return f"/{resource.group_version_path}/{where}{resource.plural}"


PATHS = st.one_of(
    resource_path(),
    resource_path(),
    st.sampled_from(
        [
            "/",
            "//",
            "/api",
            "/api/",
            "/api/v1",
            "/api/v2/pods",
            "/apis",
            "/apis/apps",
            "/apis/apps/v1",
            "/apis/nobody.example.com/v1/things",
            "/api/v1/watch/pods",
            "/api/v1/namespaces//pods",
            "/api/v1/namespaces/default",
            "/openapi/v3",
            "/openapi/v3/api/v1",
            "/openapi/v2",
            "/version",
            "/metrics",
            "/healthz/../secret",
            "/readyz/nothing",
            "/%00",
            "/%ff%fe",
            "/api/v1/pods/%2e%2e/%2e%2e/etc/passwd",
            "/" + "a/" * 300,
        ]
    ),
    st.builds(lambda text: "/" + quote(text), st.text(max_size=30)),
)


@st.composite
def damaged_manifest(draw: st.DrawFn) -> dict[str, Any]:
    """A good manifest with one value, anywhere in it, replaced by something else."""
    manifest: dict[str, Any] = json.loads(
        json.dumps(draw(st.sampled_from(EXAMPLES)).named("target"))
    )
    at: Any = manifest
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = draw(st.sampled_from(keys))
        inner = at[key]
        if not (isinstance(inner, dict | list) and inner and draw(st.booleans())):
            break
        at = inner
    at[key] = draw(JSON)
    return manifest


def _nested(opening: str, closing: str) -> SearchStrategy[bytes]:
    return st.integers(1, 20_000).map(lambda depth: (opening * depth + closing * depth).encode())


BROKEN_JSON = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=100).map(str.encode),
    _nested("[", "]"),
    _nested('{"a":', "}"),
    _nested("[", ""),
    damaged_manifest().flatmap(
        lambda manifest: st.integers(0, 300).map(lambda cut: json.dumps(manifest).encode()[:cut])
    ),
    st.sampled_from(
        [
            b"",
            b" ",
            b"null",
            b"true",
            b'"text"',
            b"[]",
            b"NaN",
            b'{"kind":"Pod","metadata":{"name":"a","name":"b"}}',
            b'{"metadata":{"name":"\\ud800"}}',
            b'{"metadata":{"name":"\xff\xfe"}}',
            b'\xef\xbb\xbf{"metadata":{"name":"bom"}}',
            b'{"data":{"n":' + b"9" * 5000 + b"}}",
            b'{"spec":{"replicas":1e999}}',
            b'{"spec":{"capacity":{"storage":1e-400}}}',
            b'{"spec":{"capacity":{"storage":"1' + b"0" * 400 + b'Gi"}}}',
            b"a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
            b"--- \n- !!python/object:os.system x\n",
        ]
    ),
)
MESSAGES = [
    example
    for example in EXAMPLES
    if protobuf.is_known(example.manifest["apiVersion"], example.manifest["kind"])
]
PROTOBUF = st.one_of(
    st.binary(max_size=100).map(lambda data: b"k8s\x00" + data),
    st.tuples(st.sampled_from(EXAMPLES), st.binary(max_size=80)).map(
        lambda pair: b"k8s\x00" + _envelope(pair[0].manifest, pair[1])
    ),
)


@st.composite
def damaged_messages(draw: st.DrawFn) -> bytes:
    """A good object in protobuf, with some bytes of it changed, lost or doubled."""
    body = bytearray(protobuf.encode(draw(st.sampled_from(MESSAGES)).named("target")))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(4, len(body) - 1))
        match draw(st.sampled_from(["change", "lose", "double"])):
            case "change":
                body[at] = draw(st.integers(0, 255))
            case "lose":
                del body[at : at + draw(st.integers(1, 8))]
            case _:
                body[at:at] = body[at : at + draw(st.integers(1, 300))]
        if len(body) < 6:
            break
    return bytes(body)


def _envelope(manifest: dict[str, Any], raw: bytes) -> bytes:
    """The wrapper that carries an object: its type, then its bytes, which may be garbage."""
    kind = _field(1, manifest["apiVersion"].encode()) + _field(2, manifest["kind"].encode())
    return _field(1, kind) + _field(2, raw)


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


BODIES = st.one_of(
    st.none(),
    JSON.map(lambda value: json.dumps(value).encode()),
    damaged_manifest().map(lambda manifest: json.dumps(manifest).encode()),
    BROKEN_JSON,
    PROTOBUF,
    JSON.map(lambda value: gzip.compress(json.dumps(value).encode())),
)


@st.composite
def headers(draw: st.DrawFn) -> dict[str, str]:
    found = {
        "Content-Type": draw(MEDIA_TYPES),
        "Accept": draw(ACCEPTS),
    }
    rare = {
        "Authorization": ["", "Bearer", "Bearer wrong", "Basic eDp5", "Digest x"],
        "Impersonate-User": ["somebody", ""],
        "Accept-Encoding": ["gzip", "gzip;q=0", "identity, gzip;q=x", ",;,"],
        "Content-Encoding": ["gzip", "br", "nonsense"],
        "If-Match": ['"1"'],
        "If-None-Match": ["*", '"x"'],
        "Connection": ["close", "Upgrade"],
        "Upgrade": ["websocket", "h2c", "SPDY/3.1"],
        "X-Forwarded-For": ["1.2.3.4"],
        "User-Agent": ["", "x" * 500],
    }
    for name in draw(st.lists(st.sampled_from(sorted(rare)), max_size=2, unique=True)):
        found[name] = draw(st.sampled_from(rare[name]))
    return found


PROBES = st.builds(
    lambda method, path, query, headers, body: Probe(
        method=method, path=path + query, headers=headers, body=body
    ),
    METHODS,
    PATHS,
    query(),
    headers(),
    BODIES,
)

POINTERS = st.one_of(
    st.sampled_from(
        [
            "",
            "/",
            "/metadata",
            "/metadata/labels/app",
            "/metadata/name",
            "/metadata/finalizers/-",
            "/metadata/ownerReferences",
            "/spec",
            "/spec/containers/0/image",
            "/spec/template/spec/containers/0/ports/-",
            "/status",
            "/spec/accessModes/99999999999",
            "/spec/~2/~",
        ]
    ),
    st.text(max_size=20),
)
JSON_PATCHES = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "leap", 7]),
            "path": POINTERS,
            "from": POINTERS,
            "value": JSON,
        },
    ),
    max_size=5,
)
DIRECTIVES = st.sampled_from(
    [
        "$patch",
        "$setElementOrder/containers",
        "$deleteFromPrimitiveList/finalizers",
        "$retainKeys",
        "metadata",
        "spec",
        "status",
        "containers",
        "labels",
        "template",
        "finalizers",
        "ownerReferences",
        "name",
    ]
)
MERGE_PATCHES = st.recursive(
    st.one_of(SCALARS, st.sampled_from(["replace", "delete", "merge"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(DIRECTIVES, inner, max_size=4)
    ),
    max_leaves=10,
)
