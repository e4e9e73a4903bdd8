from datetime import UTC, datetime

import msgspec

from plimsoll.api.storage import DEFAULT_CLASS_ANNOTATIONS, StorageClass
from plimsoll.decide.claims.default_class import find_default_class
from tests.builders import a_class


def default(name: str, year: int | None, annotation: str = "") -> StorageClass:
    class_ = a_class(name)
    metadata = msgspec.structs.replace(
        class_.metadata,
        annotations={annotation or DEFAULT_CLASS_ANNOTATIONS[0]: "true"},
        creation_timestamp=None if year is None else datetime(year, 1, 1, tzinfo=UTC),
    )
    return msgspec.structs.replace(class_, metadata=metadata)


def test_without_a_mark_there_is_no_default() -> None:
    assert find_default_class([a_class("a")]) is None


def test_the_newest_default_counts() -> None:
    classes = [default("old", 2020), default("new", 2024), a_class("plain")]
    assert find_default_class(classes) == classes[1]


def test_of_equally_old_ones_the_first_name_counts() -> None:
    classes = [default("b", 2024), default("a", 2024), default("c", None)]
    assert find_default_class(classes) == classes[1]


def test_the_older_annotation_still_counts() -> None:
    class_ = default("a", 2024, DEFAULT_CLASS_ANNOTATIONS[1])
    assert find_default_class([class_]) == class_
