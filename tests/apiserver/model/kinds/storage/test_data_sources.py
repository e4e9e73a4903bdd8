import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.storage.data_sources import (
    data_source_errors,
    prepare_data_sources,
)
from tests.apiserver.model.kinds.storage.objects import causes

CLAIM = {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "x"}
SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "x"}
BACKUP = {"apiGroup": "example.com", "kind": "Backup", "name": "x"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param({}, {}, id="none"),
        pytest.param(
            {"dataSource": {"kind": "PersistentVolumeClaim", "name": "x"}},
            {
                "dataSource": {"kind": "PersistentVolumeClaim", "name": "x"},
                "dataSourceRef": CLAIM,
            },
            id="old-field",
        ),
        pytest.param(
            {"dataSourceRef": SNAPSHOT},
            {"dataSourceRef": SNAPSHOT, "dataSource": SNAPSHOT},
            id="new-field",
        ),
        pytest.param({"dataSource": BACKUP}, {}, id="old-field-ignores-other-kinds"),
        pytest.param(
            {"dataSourceRef": BACKUP},
            {"dataSourceRef": BACKUP, "dataSource": BACKUP},
            id="new-field-takes-them",
        ),
        pytest.param({"dataSourceRef": SNAPSHOT | {"namespace": "n"}}, {}, id="other-namespace"),
    ],
)
def test_a_new_claim_has_both_fields_or_neither(given: Document, kept: Document) -> None:
    prepare_data_sources(given, {})

    assert given == kept


def test_clients_that_know_only_the_old_field_do_not_lose_a_source() -> None:
    spec = {"dataSource": BACKUP}

    prepare_data_sources(spec, {"dataSource": BACKUP, "dataSourceRef": BACKUP})

    assert spec == {"dataSource": BACKUP, "dataSourceRef": BACKUP}


@pytest.mark.parametrize(
    ("spec", "complaints"),
    [
        ({"dataSource": SNAPSHOT, "dataSourceRef": SNAPSHOT}, set()),
        ({"dataSource": CLAIM, "dataSourceRef": SNAPSHOT}, {("Invalid", "spec")}),
        (
            {"dataSource": {"apiGroup": "a b"}},
            {
                ("Required", "spec.dataSource.name"),
                ("Required", "spec.dataSource.kind"),
                ("Invalid", "spec.dataSource.apiGroup"),
            },
        ),
        ({"dataSource": {"kind": "Pod", "name": "x"}}, {("Invalid", "spec.dataSource")}),
        (
            {"dataSource": SNAPSHOT, "dataSourceRef": SNAPSHOT | {"namespace": "A"}},
            {("Invalid", "spec.dataSourceRef.namespace"), ("Invalid", "spec")},
        ),
    ],
)
def test_sources_are_complete_and_agree(spec: Document, complaints: set[tuple[str, str]]) -> None:
    found = causes(data_source_errors(spec, "spec", any_group=False))

    assert found == dict.fromkeys(complaints, 1)


def test_an_odd_group_that_is_stored_already_is_tolerated() -> None:
    spec = {"dataSource": SNAPSHOT | {"apiGroup": "a b"}}

    assert not list(data_source_errors(spec, "spec", any_group=True))
