import json
from pathlib import Path

import pytest

from plimsoll.processes.driver.backends.cephfs.options import (
    further_filesystems,
    parse_cephfs_options,
)
from plimsoll.processes.driver.settings import SetupError

GIVEN = {"monitors": "m", "user": "u", "keyFile": "k", "fsName": "csi"}


def test_volumes_are_below_a_directory_of_their_own() -> None:
    assert parse_cephfs_options(GIVEN).root == "/plimsoll"


@pytest.mark.parametrize("root", ["", "/", "plimsoll", "/a//b", "/a/../b", "/a/"])
def test_a_root_that_is_no_directory_below_the_root_is_refused(root: str) -> None:
    with pytest.raises(SetupError, match="write it like /plimsoll"):
        parse_cephfs_options({**GIVEN, "root": root})


def test_what_is_missing_or_unknown_is_told() -> None:
    with pytest.raises(SetupError, match="fsName"):
        parse_cephfs_options({name: GIVEN[name] for name in GIVEN if name != "fsName"})
    with pytest.raises(SetupError, match="colour"):
        parse_cephfs_options({**GIVEN, "colour": "red"})


def test_a_further_cluster_has_its_own_file_system_and_otherwise_the_options_of_the_first(
    tmp_path: Path,
) -> None:
    file = tmp_path / "clusters"
    file.write_text(json.dumps([GIVEN | {"clusterId": "two", "fsName": "other", "pool": "there"}]))
    first = GIVEN | {"clusterId": "one", "pool": "here", "root": "/own", "clusters": str(file)}
    (found,) = further_filesystems(parse_cephfs_options(first))
    assert (found.cluster_id, found.fs_name, found.pool) == ("two", "other", "there")
    assert (found.root, found.clusters) == ("/own", "")
    assert further_filesystems(parse_cephfs_options(GIVEN)) == ()


def test_a_further_cluster_without_a_file_system_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "clusters"
    listed = {name: GIVEN[name] for name in GIVEN if name != "fsName"} | {"clusterId": "two"}
    file.write_text(json.dumps([listed]))
    with pytest.raises(SetupError, match="fsName"):
        further_filesystems(
            parse_cephfs_options(GIVEN | {"clusterId": "one", "clusters": str(file)})
        )
