"""Options that all writes share."""

import msgspec
import pytest

from plimsoll.apiserver.http.requests import Query
from plimsoll.apiserver.model.status import ApiError
from plimsoll.apiserver.verbs.options.write_options import FieldValidation, write_options
from plimsoll.wire.transport import Request
from tests.apiserver.api import MAPS, Api, a_map


def query(**values: str) -> Query:
    return Query(Request(method="POST", path="/", query=tuple(values.items())))


def test_without_options_a_write_is_real_and_unknown_fields_are_warned_of() -> None:
    options = write_options(query(), "CreateOptions")
    assert (options.dry_run, options.field_validation) == (False, FieldValidation.WARN)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("dryRun", "Some", id="half-a-dry-run"),
        pytest.param("fieldValidation", "Maybe", id="unknown-validation"),
        pytest.param("fieldManager", "x" * 129, id="long-manager"),
        pytest.param("fieldManager", "a\nb", id="unprintable-manager"),
    ],
)
def test_a_value_that_an_option_does_not_have_is_invalid(name: str, value: str) -> None:
    with pytest.raises(ApiError) as refused:
        write_options(query(**{name: value}), "CreateOptions")
    assert refused.value.code == 422
    details = refused.value.details or {}
    assert {cause["field"] for cause in details["causes"]} == {name}


@pytest.mark.parametrize("values", [["foo"], [""], ["All", "foo"], ["foo", "bar"]])
async def test_a_dry_run_of_another_kind_is_refused_and_nothing_is_written(
    api: Api, values: list[str]
) -> None:
    await api.create("kept")
    asked = tuple(("dryRun", value) for value in values)
    for method, path, body in (
        ("POST", MAPS, a_map("a")),
        ("PUT", f"{MAPS}/kept", a_map("kept", "changed")),
        ("DELETE", f"{MAPS}/kept", None),
    ):
        sent = b"" if body is None else msgspec.json.encode(body)
        request = Request(method=method, path=path, query=asked, body=sent)
        response = await api.transport.request(request)
        assert response.status == 422
        (cause,) = msgspec.json.decode(response.body)["details"]["causes"]
        listed = msgspec.json.encode(values).decode()
        assert cause["message"] == f'Unsupported value: {listed}: supported values: "All"'
    assert (await api.list()).names == ["kept"]


@pytest.mark.parametrize(
    ("validation", "status", "warned"),
    [("Strict", 400, False), ("Warn", 201, True), ("Ignore", 201, False), ("", 201, True)],
)
async def test_unknown_fields_are_refused_warned_of_or_ignored_as_asked(
    api: Api, validation: str, status: int, *, warned: bool
) -> None:
    reply = await api.ask("POST", MAPS, a_map("a") | {"colour": "red"}, fieldValidation=validation)
    assert reply.status == status
    assert "colour" not in reply.document
    assert any("colour" in warning for warning in reply.warnings) is warned


@pytest.mark.parametrize(
    ("method", "media_type"),
    [
        ("PUT", "application/json"),
        ("PUT", "application/yaml"),
        ("PATCH", "application/apply-patch+yaml"),
    ],
)
@pytest.mark.parametrize(("validation", "status"), [("Strict", 400), ("Warn", 200)])
async def test_fields_that_are_there_twice_are_refused_or_warned_of_as_asked(
    api: Api, *, method: str, media_type: str, validation: str, status: int
) -> None:
    await api.create("a")
    data = b'{"text": "1", "text": "2"}'
    body = (
        b'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": %s}' % data
    )
    if "yaml" in media_type:
        body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: %s" % data
    answer = await api.transport.request(
        Request(
            method=method,
            path=f"{MAPS}/a",
            query=(("fieldValidation", validation), ("fieldManager", "m"), ("force", "true")),
            headers={"content-type": media_type},
            body=body,
        )
    )
    assert answer.status == status
    assert ("text" in answer.headers.get("warning", "")) is (status == 200)
