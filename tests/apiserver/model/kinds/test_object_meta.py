from collections import Counter
from typing import Any

import pytest

from plimsoll.api.names import name_is_dns_subdomain
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.object_meta import (
    drop_repeated_owners,
    generated_name,
    object_meta_errors,
    object_meta_update_errors,
    prepare_meta_create,
    prepare_meta_update,
)

POD = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u1"}


def complaints(meta: Document, **options: Any) -> Counter[tuple[str, str]]:
    errors = object_meta_errors(
        {"name": "a", "namespace": "b"} | meta,
        "metadata",
        namespaced=True,
        name_errors=name_is_dns_subdomain,
        **options,
    )
    return counted(errors)


def counted(errors: Any) -> Counter[tuple[str, str]]:
    found: list[FieldError] = list(errors)
    return Counter((str(e.type).removeprefix("FieldValue"), e.field) for e in found)


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        pytest.param({}, [], id="nothing-wrong"),
        pytest.param({"name": ""}, [("Required", "metadata.name")], id="no-name"),
        pytest.param({"name": "Bad"}, [("Invalid", "metadata.name")], id="upper-case-name"),
        pytest.param(
            {"name": "Bad_abcde", "generateName": "Bad_"},
            [("Invalid", "metadata.generateName"), ("Invalid", "metadata.name")],
            id="bad-prefix-is-told-twice",
        ),
        pytest.param({"generateName": "a-"}, [], id="prefix-may-end-in-a-dash"),
        pytest.param({"namespace": ""}, [("Required", "metadata.namespace")], id="no-namespace"),
        pytest.param({"generation": -1}, [("Invalid", "metadata.generation")], id="generation"),
        pytest.param({"labels": {"a b": "c d"}}, [("Invalid", "metadata.labels")] * 2, id="label"),
        pytest.param({"labels": {"x/y": ""}}, [], id="empty-label-value"),
        pytest.param({"annotations": {"UPPER/x": "any ✓"}}, [], id="annotation-keys-any-case"),
        pytest.param(
            {"annotations": {"a b": ""}}, [("Invalid", "metadata.annotations")], id="annotation"
        ),
        pytest.param(
            {"annotations": {"a": "x" * 256 * 1024}},
            [("TooLong", "metadata.annotations")],
            id="too-many-annotations",
        ),
        pytest.param(
            {"finalizers": [""]},
            [("Invalid", "metadata.finalizers")] * 2 + [("Invalid", "metadata.finalizers[0]")],
            id="empty-finalizer",
        ),
        pytest.param({"finalizers": ["a.b/c", "a.b/c"]}, [], id="repeated-finalizer"),
        pytest.param({"finalizers": ["kubernetes", "orphan"]}, [], id="standard-finalizers"),
        pytest.param(
            {"finalizers": ["orphan", "foregroundDeletion"]},
            [("Invalid", "metadata.finalizers")],
            id="contrary-finalizers",
        ),
        pytest.param(
            {"ownerReferences": [{}]},
            [
                ("Required", f"metadata.ownerReferences[0].{field}")
                for field in ("apiVersion", "kind", "name", "uid")
            ],
            id="empty-owner",
        ),
        pytest.param(
            {"ownerReferences": [POD | {"apiVersion": "a/b/c"}]},
            [("Invalid", "metadata.ownerReferences[0].apiVersion")],
            id="owner-version",
        ),
        pytest.param(
            {"ownerReferences": [POD | {"kind": "Event"}]},
            [("Invalid", "metadata.ownerReferences[0]")],
            id="event-as-owner",
        ),
        pytest.param(
            {"ownerReferences": [POD | {"uid": u, "controller": True} for u in "abc"]},
            [("Invalid", "metadata.ownerReferences")] * 2,
            id="three-controllers",
        ),
    ],
)
def test_metadata_is_refused_with_one_cause_for_each_complaint(
    meta: Document, expected: list[tuple[str, str]]
) -> None:
    assert complaints(meta) == Counter(expected)


def test_some_kinds_take_finalizers_without_a_domain() -> None:
    meta = {"finalizers": ["nodomain"]}

    assert complaints(meta) == Counter([("Invalid", "metadata.finalizers[0]")])
    assert complaints(meta, plain_finalizers=True) == Counter()


def test_a_new_object_gets_its_identity_from_the_server() -> None:
    meta: Document = {
        "generateName": "web-",
        "uid": "forged",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 3,
        "selfLink": "/x",
        "managedFields": [{"manager": "x", "operation": "Bogus"}],
    }

    prepare_meta_create(meta, uid="u", created="now", suffix="abcde", namespace="default")

    assert meta == {
        "generateName": "web-",
        "name": "web-abcde",
        "namespace": "default",
        "uid": "u",
        "creationTimestamp": "now",
    }


def test_a_cluster_wide_object_forgets_its_namespace() -> None:
    meta: Document = {"name": "a", "namespace": "other"}

    prepare_meta_create(meta, uid="u", created="now", suffix="", namespace="")

    assert "namespace" not in meta


def test_generated_names_fit_the_shortest_limit() -> None:
    assert generated_name("a" * 100, "12345") == "a" * 58 + "12345"


OLD: Document = {
    "name": "a",
    "namespace": "b",
    "uid": "u",
    "generation": 4,
    "creationTimestamp": "then",
    "deletionTimestamp": "later",
    "deletionGracePeriodSeconds": 30,
    "finalizers": ["x.y/z"],
}


def test_an_update_keeps_what_clients_leave_out_or_cannot_change() -> None:
    new: Document = {"name": "a", "finalizers": ["x.y/z"], "generation": 9}

    prepare_meta_update(new, OLD)

    assert new == OLD
    assert counted(object_meta_update_errors(new, OLD, "metadata")) == Counter()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"uid": "other"}, "uid"),
        ({"name": "other"}, "name"),
        ({"namespace": "other"}, "namespace"),
        ({"deletionGracePeriodSeconds": 5}, "deletionGracePeriodSeconds"),
    ],
)
def test_an_update_cannot_change_the_identity(change: Document, field: str) -> None:
    new = OLD | change

    prepare_meta_update(new, OLD)

    found = counted(object_meta_update_errors(new, OLD, "metadata"))
    assert found == Counter([("Invalid", f"metadata.{field}")])


def test_no_finalizer_is_added_to_an_object_on_its_way_out() -> None:
    new = OLD | {"finalizers": ["x.y/z", "x.y/new"]}

    found = counted(object_meta_update_errors(new, OLD, "metadata"))

    assert found == Counter([("Forbidden", "metadata.finalizers")])


def test_owners_named_twice_are_stored_once_with_a_warning() -> None:
    meta: Document = {"ownerReferences": [POD, POD | {"uid": "u2"}, dict(POD)]}

    (warning,) = drop_repeated_owners(meta)

    assert meta["ownerReferences"] == [POD, POD | {"uid": "u2"}]
    assert "u1" in warning
