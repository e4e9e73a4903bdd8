"""Every command of every page is run, in the order of the page, or is marked with why it is not.

Pages that go on where another one ends share its cluster. Each group has loopback to itself, so
that the usual ports are free.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from plimsoll.ui.local_cluster.leftovers import release
from tests.docs.pages import (
    DOCUMENTS,
    ROOT,
    SKIPS,
    STARTS,
    Block,
    name_of,
    script,
    shell_blocks,
)
from tests.kubectl.command import find_kubectl

GROUPS = {
    "a cluster of plimsoll up": [
        "docs/tutorial/first-cluster.md",
        "docs/how-to/read-capacity.md",
        "docs/how-to/run-a-node.md",
        "docs/how-to/expand-volumes.md",
        "docs/how-to/repair.md",
    ],
    "processes one by one": ["docs/tutorial/first-driver.md"],
    "the API server alone": [
        "docs/how-to/run-the-api-server.md",
        "docs/how-to/connect-with-kubectl.md",
        "docs/how-to/upgrade-zonal.md",
    ],
    "a driver alone": ["docs/how-to/simulate-network-storage.md"],
}
IN_THE_REPOSITORY = ["docs/how-to/replay-conversations.md"]
SECONDS = 540
LONE = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec bash "$@"', "sh")
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
            assert block.mark == "run" or (is_in_a_group and runs_here(block)), told


@pytest.mark.parametrize("document", with_commands(), ids=name_of)
def test_a_page_with_commands_says_where_it_starts(document: Path) -> None:
    if any(runs_here(block) for block in shell_blocks(document)):
        assert STARTS in document.read_text()


@pytest.mark.parametrize(("page", "reason"), skipped())
def test_a_block_that_is_not_run(page: str, reason: str) -> None:
    pytest.skip(f"{page}: {reason}")


@pytest.fixture
def short() -> Iterator[Path]:
    """Sockets have short names; what a page left mounted is released."""
    directory = Path(tempfile.mkdtemp(prefix="doc-"))
    yield directory
    release(directory)
    shutil.rmtree(directory)


def typed(pages: list[str], directory: Path, logs: Path, *lone: str) -> None:
    """Type all commands of the pages, in a shell that begins in the directory."""
    program = logs / "pages.sh"
    program.write_text(script(pages))
    kubectl = find_kubectl()
    tools = [Path(sys.executable).parent, *([Path(kubectl).parent] if kubectl else [])]
    path = os.pathsep.join([*map(str, tools), os.environ["PATH"]])
    command = [*(lone or ("bash",)), str(program), str(logs), str(directory)]
    said = logs / "said"
    with said.open("w") as output:
        environment = {**os.environ, "PATH": path, "HOME": str(logs)}
        shell = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        try:
            code = shell.wait(SECONDS)
        finally:
            shell.terminate()  # the shell stops what it has started, whatever ended the test
            shell.wait()
    servers = "".join(path.read_text() for path in logs.glob("*.err"))
    assert code == 0, f"{said.read_text()[-4000:]}\n{servers[-2000:]}"


@pytest.mark.timeout(SECONDS + 20)
@pytest.mark.parametrize("group", GROUPS)
def test_the_commands_of_pages_work_in_their_order(group: str, short: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounts, and loopback of their own, need root")
    missing = [tool for tool in ("unshare", "ip", "curl") if shutil.which(tool) is None]
    if find_kubectl() is None or missing:
        pytest.skip(f"the pages need kubectl, unshare, ip and curl; missing: {missing}")
    typed(GROUPS[group], short, tmp_path, *LONE)


@pytest.mark.timeout(SECONDS + 20)
@pytest.mark.parametrize("page", IN_THE_REPOSITORY)
def test_the_commands_of_a_page_for_contributors_work(page: str, tmp_path: Path) -> None:
    if not (ROOT / ".venv" / "bin" / "python").exists():
        pytest.skip("the page names .venv, which `make setup` makes")
    typed([page], ROOT, tmp_path)
