import json

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.ownership.apply import apply
from plimsoll.apiserver.model.ownership.conflicts import ApplyConflictError
from plimsoll.apiserver.model.ownership.last_applied import ANNOTATION
from plimsoll.apiserver.model.ownership.tracking import track_create
from tests.apiserver.model.ownership.objects import a_config_map, at, by

AT = at("ConfigMap")


def applied_by_client(data: dict[str, str], annotation: str | None = None) -> Document:
    """As `kubectl apply` leaves an object."""
    text = json.dumps(a_config_map(data)) if annotation is None else annotation
    live = a_config_map(data, annotations={ANNOTATION: text})
    live["metadata"]["managedFields"] = track_create(AT, live, by("kubectl-client-side-apply"))
    return live


def test_kubectl_may_change_on_the_server_what_it_applied_before() -> None:
    live = applied_by_client({"a": "1"})
    result = apply(AT, live, a_config_map({"a": "2"}), by("kubectl"), force=False)
    assert result.document["data"] == {"a": "2"}
    noted = json.loads(result.document["metadata"]["annotations"][ANNOTATION])
    assert noted == a_config_map({"a": "2"})


def test_other_managers_may_not() -> None:
    with pytest.raises(ApplyConflictError):
        apply(AT, applied_by_client({"a": "1"}), a_config_map({"a": "2"}), by("m1"), force=False)


def test_what_another_manager_changed_since_is_a_conflict() -> None:
    live = applied_by_client({"a": "1", "b": "1"}) | {"data": {"a": "7", "b": "1"}}
    with pytest.raises(ApplyConflictError) as refused:
        apply(AT, live, a_config_map({"a": "2", "b": "2"}), by("kubectl"), force=False)
    assert [conflict.field for conflict in refused.value.conflicts] == [".data.a"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"apiVersion":"v1","data":7}'])
def test_an_annotation_that_says_nothing_allows_nothing(text: str) -> None:
    live = applied_by_client({"a": "1"}, text)
    with pytest.raises(ApplyConflictError):
        apply(AT, live, a_config_map({"a": "2"}), by("kubectl"), force=False)
