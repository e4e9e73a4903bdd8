import json
from pathlib import Path

import pytest
from grpc import StatusCode

from plimsoll.processes.driver.backends.rbd.options import (
    access_of,
    parse_class,
    parse_options,
)
from plimsoll.processes.driver.settings import SetupError
from plimsoll.wire.csi.errors import CsiStatusError

GIVEN = {"monitors": "v2:127.0.0.1:3300", "user": "plimsoll", "keyFile": "key"}
OPTIONS = parse_options(GIVEN | {"clusterId": "east"})
ZONED = json.dumps([{"poolName": "a", "dataPool": "ec-a"}, {"poolName": "b"}])


def test_a_class_with_one_pool_has_journal_and_images_in_it() -> None:
    found = parse_class({"pool": "rbd", "dataPool": "ec"}, OPTIONS)
    assert (found.journal_pool, [pool.name for pool in found.pools]) == ("rbd", ["rbd"])
    assert found.data_pool("rbd") == "ec"
    assert (found.features, found.name_prefix) == (("layering",), "csi-vol-")


def test_a_class_that_names_no_pool_has_that_of_the_driver() -> None:
    assert parse_class({}, parse_options(GIVEN | {"pool": "rbd"})).journal_pool == "rbd"


def test_a_class_with_zones_has_its_journal_apart() -> None:
    found = parse_class({"pool": "journal", "topologyConstrainedPools": ZONED}, OPTIONS)
    assert (found.journal_pool, [pool.name for pool in found.pools]) == ("journal", ["a", "b"])
    assert (found.data_pool("a"), found.data_pool("b")) == ("ec-a", "")


def test_features_and_prefix_are_those_of_the_class() -> None:
    given = {"imageFeatures": "layering, exclusive-lock", "volumeNamePrefix": "pvc-"}
    found = parse_class({"pool": "rbd", "clusterID": "east"} | given, OPTIONS)
    assert (found.features, found.name_prefix) == (("layering", "exclusive-lock"), "pvc-")


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        pytest.param({}, "pool: must be given", id="no-pool"),
        pytest.param({"pool": "a", "typo": ""}, "unknown typo; known are", id="unknown"),
        pytest.param({"pool": "a", "encrypted": "true"}, "cannot be encrypted", id="encrypted"),
        pytest.param({"pool": "a", "clusterID": "west"}, "this driver serves east", id="cluster"),
        pytest.param({"pool": "a", "imageFeatures": "x"}, "imageFeatures: x", id="feature"),
        pytest.param({"pool": "a", "topologyConstrainedPools": "{"}, "is not JSON", id="no-json"),
        pytest.param(
            {"pool": "a", "topologyConstrainedPools": '[{"poolName": "a", "clusterID": "west"}]'},
            "serves one cluster only",
            id="several-clusters",
        ),
    ],
)
def test_a_class_that_cannot_be_is_refused(parameters: dict[str, str], told: str) -> None:
    with pytest.raises(CsiStatusError, match=told) as refusal:
        parse_class(parameters, OPTIONS)
    assert refusal.value.code is StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    "wrong",
    [
        {"user": None},
        {"overcommit": "lots"},
        {"typo": "1"},
        {"overcommit": "1e999999999"},
        {"overcommit": "1001"},
    ],
)
def test_options_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SetupError, match="options of the rbd backend"):
        parse_options(GIVEN | wrong)


def test_the_key_is_read_from_its_file_and_never_shown(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("secret\n")
    access = access_of(parse_options(GIVEN | {"keyFile": str(file)}))
    assert access.key == "secret"
    assert "secret" not in repr(access)


def test_a_missing_file_of_the_key_is_told() -> None:
    with pytest.raises(SetupError, match="keyFile: /nonexistent/key: No such file"):
        access_of(parse_options(GIVEN | {"keyFile": "/nonexistent/key"}))


@pytest.mark.parametrize("content", [b"", b"\0" * 40, b"k" * 5000])
def test_a_file_that_holds_no_key_is_refused_and_not_shown(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "key"
    file.write_bytes(content)
    with pytest.raises(SetupError, match="holds no key") as told:
        access_of(parse_options(GIVEN | {"keyFile": str(file)}))
    assert "kkk" not in str(told.value)


def test_no_more_of_the_file_is_read_than_a_key_can_have() -> None:
    with pytest.raises(SetupError, match="holds no key"):
        access_of(parse_options(GIVEN | {"keyFile": "/dev/zero"}))
