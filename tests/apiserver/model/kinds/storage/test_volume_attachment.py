from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.storage.volume_attachment import RULES
from tests.apiserver.model.kinds.storage.objects import NOW, a_volume, causes


def an_attachment(**spec: Any) -> Document:
    return {
        "metadata": {"name": "va-1", "labels": {"a": "b"}},
        "spec": {
            "attacher": "d.example.com",
            "nodeName": "node-1",
            "source": {"persistentVolumeName": "pv-1"},
        }
        | spec,
        "status": {"attached": False},
    }


@pytest.mark.parametrize(
    ("spec", "complaints"),
    [
        ({}, set()),
        ({"attacher": ""}, {("Required", "spec.attacher")}),
        ({"nodeName": ""}, {("Invalid", "spec.nodeName")}),
        ({"source": {}}, {("Required", "spec.source")}),
        (
            {"source": {"persistentVolumeName": "p", "inlineVolumeSpec": {}}},
            {("Forbidden", "spec.source")},
        ),
        (
            {"source": {"persistentVolumeName": ""}},
            {
                ("Required", "spec.source.persistentVolumeName"),
                ("Invalid", "spec.source.persistentVolumeName"),
            },
        ),
        (
            {"source": {"inlineVolumeSpec": a_volume()["spec"]}},
            {("Forbidden", "spec.source.inlineVolumeSpec.capacity")},
        ),
    ],
)
def test_an_attachment_names_one_volume_one_node_and_who_attaches(
    spec: Document, complaints: set[tuple[str, str]]
) -> None:
    assert causes(RULES.validate(an_attachment(**spec))) == dict.fromkeys(complaints, 1)


def test_a_new_attachment_is_not_attached() -> None:
    attachment = an_attachment() | {"status": {"attached": True}}

    RULES.prepare_create(attachment, NOW)

    assert attachment["status"] == {"attached": False}


def test_the_spec_is_fixed() -> None:
    moved = an_attachment(nodeName="node-2")

    assert list(causes(RULES.validate_update(moved, an_attachment()))) == [("Invalid", "spec")]


def test_an_impossible_request_gets_all_complaints() -> None:
    found = causes(RULES.validate_update(an_attachment(attacher=""), an_attachment()))

    assert set(found) == {("Required", "spec.attacher"), ("Invalid", "spec")}


def test_the_attacher_reports_its_state_and_nothing_else() -> None:
    reported = an_attachment(nodeName="node-2") | {"status": {"attached": True}}

    RULES.prepare_status(reported, an_attachment(), NOW)

    assert reported == an_attachment() | {"status": {"attached": True}}


@pytest.mark.parametrize(
    ("status", "complaint"),
    [
        ({"attachError": {"message": "x" * 1025}}, ("TooLong", "status.attachError.message")),
        ({"detachError": {"errorCode": -1}}, ("Invalid", "status.detachError.errorCode")),
        (
            {"attachmentMetadata": {"a": "x" * 262144}},
            ("TooLong", "status.attachmentMetadata"),
        ),
    ],
)
def test_reports_have_a_size(status: Document, complaint: tuple[str, str]) -> None:
    reported = an_attachment() | {"status": status}

    assert list(causes(RULES.validate_status(reported, an_attachment()))) == [complaint]


def test_an_inline_volume_gets_its_defaults() -> None:
    inline = {"iscsi": {}, "capacity": {"storage": "1n"}}

    RULES.default(an_attachment(source={"inlineVolumeSpec": inline}))

    assert inline == {"iscsi": {"iscsiInterface": "default"}, "capacity": {"storage": "1m"}}
