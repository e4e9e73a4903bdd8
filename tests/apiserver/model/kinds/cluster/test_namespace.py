from collections import Counter
from datetime import UTC, datetime

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.cluster.namespace import (
    RULES,
    validate_finalize,
)
from tests.apiserver.model.kinds.complaints import complaints

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def a_namespace(**fields: Document) -> Document:
    namespace: Document = {"metadata": {"name": "team"}} | fields
    RULES.default(namespace)
    RULES.prepare_create(namespace, NOW)
    return namespace


def test_a_new_namespace_is_active_labelled_and_held_by_its_finalizer() -> None:
    namespace = a_namespace(status={"phase": "Terminating"}, spec={"finalizers": ["x.y/z"]})

    assert namespace == {
        "metadata": {"name": "team", "labels": {"kubernetes.io/metadata.name": "team"}},
        "spec": {"finalizers": ["x.y/z", "kubernetes"]},
        "status": {"phase": "Active"},
    }


def test_the_label_with_the_name_cannot_be_another() -> None:
    labels = {"kubernetes.io/metadata.name": "other"}

    namespace = a_namespace(metadata={"name": "team", "labels": labels})

    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}


def test_an_update_keeps_the_finalizers() -> None:
    old = a_namespace()
    new = a_namespace()
    new["spec"]["finalizers"] = []

    RULES.prepare_update(new, old, NOW)

    assert new["spec"]["finalizers"] == ["kubernetes"]


def test_finalizers_have_a_domain() -> None:
    namespace = a_namespace(spec={"finalizers": ["x"]})

    assert complaints(RULES.validate(namespace)) == Counter([("Invalid", "spec.finalizers")])
    assert complaints(validate_finalize(namespace)) == Counter([("Invalid", "spec.finalizers[0]")])


def test_security_labels_name_a_level() -> None:
    label = "pod-security.kubernetes.io/enforce"
    labels = {label: "bogus", f"{label}-version": "v1.30"}
    namespace = a_namespace(metadata={"name": "team", "labels": labels})

    found = complaints(RULES.validate(namespace))

    assert found == Counter([("Invalid", f"metadata.labels[{label}]")])
    assert complaints(RULES.validate_update(namespace, namespace)) == Counter()


def test_the_phase_agrees_with_deletion() -> None:
    namespace = a_namespace()
    namespace["status"]["phase"] = "Terminating"

    assert complaints(RULES.validate_status(namespace, namespace)) == Counter(
        [("Invalid", "status.Phase")]
    )
    namespace["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert complaints(RULES.validate_status(namespace, namespace)) == Counter()


def test_names_have_no_dots() -> None:
    assert len(RULES.name_errors("a.b", False)) == 1
