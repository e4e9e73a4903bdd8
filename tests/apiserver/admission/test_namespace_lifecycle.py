from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from plimsoll.api.registry import Document, resources_by_path
from plimsoll.apiserver.admission import namespace_lifecycle
from plimsoll.apiserver.admission.attributes import Attributes, Operation, StoredVersion
from plimsoll.apiserver.admission.quota.scopes import Scope
from plimsoll.apiserver.admission.quota.tally import QuotaTally
from plimsoll.apiserver.model.status import ApiError


class Namespaces:
    """A cluster of nothing but namespaces."""

    def __init__(self, *namespaces: Document) -> None:
        self._by_name = {n["metadata"]["name"]: n for n in namespaces}

    def has(self, _group: str, _plural: str, _namespace: str, name: str) -> bool:
        return name in self._by_name

    def get(self, _group: str, _plural: str, _namespace: str, name: str) -> Document | None:
        return self._by_name.get(name)

    def list(self, _group: str, _plural: str, _namespace: str = "") -> Iterator[Document]:
        return iter(self._by_name.values())

    def versions(
        self, _group: str, _plural: str, _namespace: str = ""
    ) -> Iterator[tuple[str, StoredVersion]]:
        return iter(())

    def tally(
        self, group: str, plural: str, _namespace: str, scopes: tuple[Scope, ...]
    ) -> QuotaTally:
        return QuotaTally(group, plural, scopes)


CLUSTER = Namespaces(
    {"metadata": {"name": "team"}},
    {"metadata": {"name": "leaving", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
)


def a_request(
    operation: Operation, plural: str = "configmaps", namespace: str = "", name: str = "x"
) -> Attributes:
    return Attributes(
        operation=operation,
        resource=resources_by_path()["", "v1", plural],
        subresource="",
        namespace=namespace,
        name=name,
        document={"metadata": {"name": name}},
        old=None,
        user="admin",
        now=datetime(2026, 1, 1, tzinfo=UTC),
        dry_run=False,
        reader=CLUSTER,
        warnings=[],
    )


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(a_request(Operation.CREATE, namespace="team"), id="create"),
        pytest.param(a_request(Operation.UPDATE, namespace="leaving"), id="change-while-leaving"),
        pytest.param(a_request(Operation.DELETE, namespace="gone"), id="delete-what-is-left-over"),
        pytest.param(a_request(Operation.CREATE, "nodes"), id="without-a-namespace"),
        pytest.param(a_request(Operation.DELETE, "namespaces", "team", "team"), id="a-namespace"),
    ],
)
def test_most_requests_pass(request_: Attributes) -> None:
    namespace_lifecycle.check(request_)


@pytest.mark.parametrize("operation", [Operation.CREATE, Operation.UPDATE])
def test_nothing_is_written_to_a_missing_namespace(operation: Operation) -> None:
    with pytest.raises(ApiError) as refusal:
        namespace_lifecycle.check(a_request(operation, namespace="gone"))

    assert refusal.value.code == 404
    assert refusal.value.details == {"name": "gone", "kind": "namespaces"}


def test_nothing_is_created_in_a_leaving_namespace() -> None:
    with pytest.raises(ApiError) as refusal:
        namespace_lifecycle.check(a_request(Operation.CREATE, namespace="leaving"))

    assert refusal.value.code == 403
    assert refusal.value.details is not None
    (cause,) = refusal.value.details["causes"]
    assert (cause["reason"], cause["field"]) == ("NamespaceTerminating", "metadata.namespace")


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_namespaces_never_go(name: str) -> None:
    with pytest.raises(ApiError) as refusal:
        namespace_lifecycle.check(a_request(Operation.DELETE, "namespaces", name, name))

    assert refusal.value.code == 403
