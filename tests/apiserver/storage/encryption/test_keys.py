"""Keys are read from a file that no other user can read; the first writes, all read."""

from base64 import b64encode
from pathlib import Path

import pytest

from plimsoll.apiserver.storage.encryption.keys import StorageKey, read_keys

FIRST, SECOND = bytes(range(32)), bytes(range(32, 64))


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    file = path / "keys"
    file.write_text(text)
    file.chmod(mode)
    return file


def line(secret: bytes) -> str:
    return b64encode(secret).decode()


def test_the_first_key_writes_and_all_of_them_read(tmp_path: Path) -> None:
    ring = read_keys(written(tmp_path, f"# new\n{line(FIRST)}\n\n{line(SECOND)}\n"))
    assert ring.first is ring.keys[0]
    assert [key.name for key in ring.keys] == [StorageKey(FIRST).name, StorageKey(SECOND).name]
    assert ring.find(StorageKey(SECOND).name) is ring.keys[1]
    assert ring.find(b"another!") is None
    assert not ring.reads_plain


def test_identity_in_the_first_line_writes_without_a_key_and_reads_with_those_below(
    tmp_path: Path,
) -> None:
    ring = read_keys(written(tmp_path, f"identity\n{line(FIRST)}\n"))
    assert ring.first is None
    assert [key.name for key in ring.keys] == [StorageKey(FIRST).name]
    assert ring.reads_plain


def test_identity_below_a_key_reads_what_is_not_encrypted_and_writes_with_the_key(
    tmp_path: Path,
) -> None:
    ring = read_keys(written(tmp_path, f"{line(FIRST)}\nidentity\n"))
    assert ring.first is ring.keys[0]
    assert ring.reads_plain


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_file_that_others_can_use_is_refused_with_the_remedy(tmp_path: Path, mode: int) -> None:
    file = written(tmp_path, line(FIRST), mode)
    with pytest.raises(ValueError, match=rf"mode {mode:04o}\); run chmod 600 {file}"):
        read_keys(file)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "there is no key in it"),
        ("# nothing\n", "there is no key in it"),
        ("c2hvcnQ=", "line 1: 5 bytes, a key has 32"),
        (f"{line(FIRST)}\nsecret!!", "line 2: not base64"),
    ],
)
def test_what_is_no_key_is_named_by_its_line_and_not_shown(
    tmp_path: Path, text: str, why: str
) -> None:
    with pytest.raises(ValueError, match=why) as raised:
        read_keys(written(tmp_path, text))
    assert "secret!!" not in str(raised.value)
    assert "base64" in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="keys: No such file or directory; make one with"):
        read_keys(tmp_path / "keys")


def test_a_key_does_not_show_itself() -> None:
    assert line(FIRST) not in repr(StorageKey(FIRST))
    assert FIRST.hex() not in repr(StorageKey(FIRST))
