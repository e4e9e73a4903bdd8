from collections import Counter

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.config.config_map import RULES, data_key_errors
from tests.apiserver.model.kinds.complaints import complaints


@pytest.mark.parametrize(
    ("key", "faults"),
    [("key.name", 0), ("KEY_NAME", 0), ("a b", 1), ("", 1), ("a" * 254, 1), ("..", 1), ("..a", 1)],
)
def test_keys_can_be_file_names(key: str, faults: int) -> None:
    assert len(data_key_errors(key)) == faults


def test_a_key_is_text_or_bytes_but_not_both() -> None:
    config_map: Document = {"metadata": {}, "data": {"a": "1"}, "binaryData": {"a": "aGk="}}

    assert complaints(RULES.validate(config_map)) == Counter([("Invalid", "data[a]")])


def test_the_decoded_content_has_a_limit() -> None:
    half = "x" * (512 * 1024)
    config_map: Document = {"metadata": {}, "data": {"a": half, "b": half}}

    assert complaints(RULES.validate(config_map)) == Counter()
    config_map["binaryData"] = {"c": "aGk="}
    assert complaints(RULES.validate(config_map)) == Counter([("TooLong", "[]")])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"data": {"a": "2"}}, "data"),
        ({"binaryData": {"z": "eA=="}}, "binaryData"),
        ({"immutable": False}, "immutable"),
    ],
)
def test_a_frozen_config_map_stays_as_it_is(change: Document, field: str) -> None:
    old: Document = {"metadata": {}, "data": {"a": "1"}, "immutable": True}

    assert complaints(RULES.validate_update(old | change, old)) == Counter([("Forbidden", field)])


def test_labels_of_a_frozen_config_map_may_change() -> None:
    old: Document = {"metadata": {}, "data": {"a": "1"}, "immutable": True}

    assert complaints(RULES.validate_update(old | {"metadata": {"labels": {}}}, old)) == Counter()
