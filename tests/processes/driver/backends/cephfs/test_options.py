import pytest

from plimsoll.processes.driver.backends.cephfs.options import parse_cephfs_options
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
