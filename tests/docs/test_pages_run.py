"""Every command of every page is run, in the order of the page, or is marked with why it is not.

The pages on a cluster of `plimsoll up` take as long as all others together, and have a file of
their own (`test_pages_on_a_cluster`): files are what the processes of a test run share out. Pages
on Ceph are run by `make test-ceph`, where there is one.
"""

from itertools import chain
from pathlib import Path

import pytest

from tests.docs.pages import DOCUMENTS, ROOT, SKIPS, STARTS, Block, blocks, name_of, shell_blocks
from tests.docs.running import GROUPS, ON_A_CLUSTER, ON_CEPH, SECONDS, type_group, typed

GUIDES = [page for page in DOCUMENTS if page.parent.name in ("how-to", "tutorial")]
IN_THE_REPOSITORY = ["docs/how-to/replay-conversations.md"]
RUN_HERE = ("try", "try stopped", "serve", "serve again")


def runs_here(block: Block) -> bool:
    return block.mark in RUN_HERE or block.mark.startswith("try exit=")


def with_commands() -> list[Path]:
    return [document for document in DOCUMENTS if shell_blocks(document)]


def skipped() -> list[tuple[str, str]]:
    return [
        (name_of(document), block.mark.removeprefix("skip: "))
        for document in with_commands()
        for block in shell_blocks(document)
        if block.mark.startswith("skip: ")
    ]


@pytest.mark.parametrize("document", with_commands(), ids=name_of)
def test_every_shell_block_is_run_or_says_why_not(document: Path) -> None:
    is_in_a_group = name_of(document) in {*IN_THE_REPOSITORY, *chain(*GROUPS.values())}
    for block in shell_blocks(document):
        told = f"{name_of(document)}: {block.mark or 'no mark'}: {block.text}"
        if block.mark.startswith("skip: "):
            assert block.mark.removeprefix("skip: ") in SKIPS, told
        else:
            assert block.is_run or (is_in_a_group and runs_here(block)), told


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_block_says_what_it_is_so_that_no_command_goes_unnoticed(document: Path) -> None:
    assert not [block.text for block in blocks(document) if not block.language]


@pytest.mark.parametrize("document", GUIDES, ids=name_of)
def test_a_page_to_be_followed_says_where_it_starts(document: Path) -> None:
    assert STARTS in document.read_text()


@pytest.mark.parametrize(("page", "reason"), skipped())
def test_a_block_that_is_not_run(page: str, reason: str) -> None:
    pytest.skip(f"{page}: {reason}")


@pytest.mark.timeout(SECONDS + 20)
@pytest.mark.parametrize(
    "group", [group for group in GROUPS if group not in (ON_A_CLUSTER, ON_CEPH)]
)
def test_the_commands_of_pages_work_in_their_order(group: str, short: Path, tmp_path: Path) -> None:
    type_group(group, short, tmp_path)


@pytest.mark.timeout(SECONDS + 20)
@pytest.mark.parametrize("page", IN_THE_REPOSITORY)
def test_the_commands_of_a_page_for_contributors_work(page: str, tmp_path: Path) -> None:
    if not (ROOT / ".venv" / "bin" / "python").exists():
        pytest.skip("the page names .venv, which `make setup` makes")
    typed([page], ROOT, tmp_path)
