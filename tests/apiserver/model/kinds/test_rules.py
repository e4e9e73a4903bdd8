"""What a kind without rules of its own does."""

from datetime import UTC, datetime

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_all_but_status, keep_status

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def test_a_write_to_the_object_leaves_its_status_alone() -> None:
    new: Document = {"spec": 2, "status": "mine"}
    keep_status(new, {"spec": 1, "status": "theirs"}, NOW)
    assert new == {"spec": 2, "status": "theirs"}
    keep_status(new, {"spec": 1}, NOW)
    assert new == {"spec": 2}


def test_a_write_to_the_status_leaves_all_else_but_metadata_alone() -> None:
    new: Document = {"metadata": "new", "spec": 2, "data": "added", "status": "new"}
    keep_all_but_status(new, {"metadata": "old", "spec": 1, "extra": "kept", "status": "old"}, NOW)
    assert new == {"metadata": "new", "spec": 1, "extra": "kept", "status": "new"}


def test_without_rules_everything_passes_unchanged() -> None:
    rules = KindRules()
    document: Document = {"metadata": {"name": "a"}, "spec": {}}
    rules.default(document)
    rules.prepare_create(document, NOW)
    rules.prepare_update(document, {}, NOW)
    assert document == {"metadata": {"name": "a"}, "spec": {}}
    assert list(rules.validate(document)) == []
    assert list(rules.validate_update(document, {})) == []
    assert list(rules.validate_status(document, {})) == []
    assert rules.warnings(document, None) == []
    assert (rules.selectable_fields(document), rules.selectable_names) == ({}, frozenset())
    assert rules.name_errors("Not_A_Name", False)
