import json
from pathlib import Path

import pytest

from plimsoll.processes.driver.backends.ceph.shared_options import access_of
from plimsoll.processes.driver.backends.rbd.options import further_clusters, parse_options
from plimsoll.processes.driver.settings import SetupError

GIVEN = {"monitors": "v2:127.0.0.1:3300", "user": "plimsoll", "keyFile": "key"}


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


FURTHER = GIVEN | {"clusterId": "east", "pool": "journal-east"}
SEVERAL = GIVEN | {"clusterId": "west", "pool": "journal", "overcommit": "2"}


def listed(file: Path, *clusters: object) -> dict[str, str]:
    file.write_text(json.dumps(clusters))
    return SEVERAL | {"clusters": str(file)}


def test_further_clusters_have_the_options_of_the_first_where_they_say_nothing(
    tmp_path: Path,
) -> None:
    (found,) = further_clusters(parse_options(listed(tmp_path / "file", FURTHER)))
    assert (found.cluster_id, found.pool, found.overcommit) == ("east", "journal-east", "2")
    assert further_clusters(parse_options(SEVERAL)) == ()


@pytest.mark.parametrize(
    ("cluster", "told"),
    [
        (FURTHER | {"clusterId": "west"}, "two clusters are called so"),
        (FURTHER | {"clusterId": "a/b"}, "without a slash"),
        (FURTHER | {"clusterId": ""}, "needs a name of its own"),
        (FURTHER | {"typo": ""}, "unknown field `typo`"),
        (GIVEN, "missing required field"),
        (FURTHER | {"overcommit": "lots"}, "is no number"),
    ],
)
def test_a_list_of_clusters_that_cannot_be_is_refused(
    tmp_path: Path, cluster: dict[str, str], told: str
) -> None:
    with pytest.raises(SetupError, match=told):
        further_clusters(parse_options(listed(tmp_path / "file", cluster)))


def test_a_list_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    options = SEVERAL | {"clusters": str(tmp_path / "nowhere")}
    with pytest.raises(SetupError, match="No such file"):
        further_clusters(parse_options(options))
