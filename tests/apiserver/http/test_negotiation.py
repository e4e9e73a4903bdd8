"""In which form a body came, and in which form the answer goes."""

from typing import Any

import pytest
import yaml

from plimsoll.apiserver.http.negotiation import AcceptedForm, MediaForm, decode_body, wanted
from plimsoll.apiserver.model.status import ApiError
from plimsoll.wire.transport import Request
from tests.apiserver.api import MAPS, Api

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf"


def asking(accept: str) -> AcceptedForm:
    request = Request(method="GET", path="/", headers={"accept": accept} if accept else {})
    return wanted(request)


@pytest.mark.parametrize(
    ("accept", "served"),
    [
        pytest.param("", AcceptedForm(), id="nothing-said"),
        pytest.param("*/*", AcceptedForm(), id="anything"),
        pytest.param("application/json", AcceptedForm(), id="json"),
        pytest.param(PROTOBUF, AcceptedForm(media_type=PROTOBUF), id="protobuf"),
        pytest.param("application/yaml", AcceptedForm(media_type="application/yaml"), id="yaml"),
        pytest.param(f"{TABLE},application/json", AcceptedForm(form=MediaForm.TABLE), id="a-table"),
        pytest.param(METADATA, AcceptedForm(form=MediaForm.METADATA), id="metadata"),
        pytest.param(
            TABLE.replace("v=v1", "v=v1beta1"),
            AcceptedForm(form=MediaForm.TABLE, version="v1beta1"),
            id="an-older-table",
        ),
        pytest.param(
            f"*/*,{METADATA}", AcceptedForm(form=MediaForm.METADATA), id="anything-comes-last"
        ),
        pytest.param(
            f"application/json;q=0.5,{TABLE};q=0.9",
            AcceptedForm(form=MediaForm.TABLE),
            id="quality-decides",
        ),
        pytest.param(
            "application/json;as=Hologram;v=v1;g=meta.k8s.io,application/json",
            AcceptedForm(),
            id="unknown-form-with-a-fallback",
        ),
    ],
)
def test_the_best_form_that_can_be_served_is_served(accept: str, served: AcceptedForm) -> None:
    assert asking(accept) == served


@pytest.mark.parametrize(
    "accept",
    [
        pytest.param("text/html", id="unknown-type"),
        pytest.param("application/*", id="half-a-type"),
        pytest.param("application/json;as=Table;v=v9;g=meta.k8s.io", id="unknown-version"),
        pytest.param("application/json;v=v1;g=meta.k8s.io", id="a-version-of-nothing"),
        pytest.param(f"{PROTOBUF};as=Table;v=v1;g=meta.k8s.io", id="tables-are-text"),
        pytest.param("application/json;stream=video", id="unknown-stream"),
    ],
)
def test_a_form_that_cannot_be_served_is_not_acceptable(accept: str) -> None:
    with pytest.raises(ApiError) as refused:
        asking(accept)
    assert refused.value.code == 406


def decoded(content_type: str, body: bytes) -> Any:
    headers = {"content-type": content_type} if content_type else {}
    return decode_body(Request(method="POST", path="/", headers=headers, body=body))


def test_json_and_yaml_say_the_same() -> None:
    expected = {"metadata": {"name": "a"}, "data": {"since": "2024-01-01", "on": True}}
    json = b'{"metadata":{"name":"a"},"data":{"since":"2024-01-01","on":true}}'
    yaml = b"metadata: {name: a}\ndata:\n  since: 2024-01-01\n  on: true\n"
    assert decoded("application/json; charset=utf-8", json) == expected
    assert decoded("", json) == expected
    plain = decoded("application/yaml", yaml.replace(b"on: true", b"'on': true"))
    assert plain == expected


LAUGHS = b"\n".join(
    [b'a0: &a0 ["lol", "lol", "lol", "lol", "lol", "lol", "lol", "lol", "lol"]']
    + [b"a%d: &a%d [%s]" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 12)]
)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        pytest.param("application/json", b"{", id="half-json"),
        pytest.param("application/json", b"\xff\xff", id="not-even-text"),
        pytest.param("application/json", b'{"a":"\xff"}', id="broken-text"),
        pytest.param("application/json", b'{"a":"\\ud800"}', id="half-a-character"),
        pytest.param("application/json", b"[" * 100_000, id="very-deep"),
        pytest.param("application/json", b"1e999", id="more-than-a-number-holds"),
        pytest.param("application/yaml", b"a: [", id="half-yaml"),
        pytest.param("application/yaml", b"[" * 3_000, id="deep-yaml"),
        pytest.param("application/yaml", b"\x00", id="zero-byte-yaml"),
        pytest.param("application/yaml", b"!!python/object:os.system {}", id="foreign-tag"),
        pytest.param("application/yaml", b"a: &x [*x]", id="endless-yaml"),
        pytest.param("application/yaml", LAUGHS, id="a-billion-laughs"),
        pytest.param(PROTOBUF, b"k8s\x00", id="protobuf-that-ends-too-early"),
        pytest.param(PROTOBUF, b"nothing of the kind", id="not-protobuf"),
        pytest.param(PROTOBUF, b"k8s\x00" + b"\xff" * 40, id="garbage-in-protobuf"),
    ],
)
def test_a_body_that_cannot_be_read_is_a_bad_request(content_type: str, body: bytes) -> None:
    with pytest.raises(ApiError) as refused:
        decoded(content_type, body)
    assert refused.value.code == 400


def test_an_unknown_type_of_body_is_refused_with_the_types_that_are_taken() -> None:
    with pytest.raises(ApiError, match="application/json, application/yaml") as refused:
        decoded("text/plain", b"a")
    assert refused.value.code == 415


@pytest.mark.parametrize(
    ("accept", "told_in"),
    [
        pytest.param("application/yaml", "application/yaml", id="yaml"),
        pytest.param("application/json", "application/json", id="json"),
        pytest.param(
            "application/yaml;as=Table;v=v1;g=meta.k8s.io", "application/json", id="no-table"
        ),
        pytest.param("text/html", "application/json", id="what-cannot-be-served"),
    ],
)
async def test_errors_are_told_in_yaml_to_those_who_read_that(
    api: Api, accept: str, told_in: str
) -> None:
    asked = Request(method="GET", path=f"{MAPS}/nosuch", headers={"accept": accept})
    response = await api.transport.request(asked)
    assert response.headers["content-type"] == told_in
    status = yaml.safe_load(response.body)
    assert (status["kind"], status["code"]) == ("Status", response.status)
