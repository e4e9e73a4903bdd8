import os
from pathlib import Path

import pytest

from plimsoll.runtime.files.trees import remove_tree
from tests.deep_directories import make_deep


def test_a_tree_goes_with_everything_in_it(tmp_path: Path) -> None:
    for path in ("tree/a/b", "tree/a/c", "tree/d"):
        (tmp_path / path).mkdir(parents=True)
        (tmp_path / path / "file").write_text("x")
    os.mkfifo(tmp_path / "tree" / "pipe")
    (tmp_path / "beside").mkdir()
    remove_tree(tmp_path / "tree")
    assert [path.name for path in tmp_path.iterdir()] == ["beside"]


def test_it_may_be_deeper_than_python_recurses(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    make_deep(tmp_path / "tree", levels=3000)
    remove_tree(tmp_path / "tree")
    assert list(tmp_path.iterdir()) == []


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("precious")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "outside")
    remove_tree(tmp_path / "tree")
    assert (tmp_path / "outside" / "file").read_text() == "precious"


def test_a_link_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "tree").symlink_to(tmp_path / "outside")
    with pytest.raises(NotADirectoryError):
        remove_tree(tmp_path / "tree")
    assert (tmp_path / "outside").is_dir()
