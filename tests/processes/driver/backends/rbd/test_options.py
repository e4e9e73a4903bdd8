from pathlib import Path

import pytest

from plimsoll.processes.driver.backends.ceph.shared_options import access_of
from plimsoll.processes.driver.backends.rbd.options import (
    parse_options,
)
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
