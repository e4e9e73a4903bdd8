"""The examples of the how-to page are files that the scheduler takes."""

from pathlib import Path

import pytest

from plimsoll.processes.scheduler.settings import load, profiles_of
from tests.docs.pages import FENCE, ROOT

PAGE = ROOT / "docs" / "how-to" / "use-profiles.md"
EXAMPLES = [text for kind, _, text in FENCE.findall(PAGE.read_text()) if kind == "yaml"]


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_example_is_understood(tmp_path: Path, example: str) -> None:
    file = tmp_path / "profiles.yaml"
    file.write_text(example)
    assert profiles_of(load(file, {}, {}))


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 4
