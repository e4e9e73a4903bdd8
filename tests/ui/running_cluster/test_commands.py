"""`plimsoll status` and `plimsoll stop`, beside a `plimsoll up` as a user starts it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plimsoll.ui.cli.main import cli
from plimsoll.ui.local_cluster import addresses
from tests.ui.started import short_directory, up


def run(command: str, directory: Path, *options: str) -> Result:
    return CliRunner().invoke(cli, [command, "--data-dir", str(directory), *options])


@pytest.mark.parametrize("command", ["status", "stop"])
def test_where_no_cluster_runs_the_directory_is_named(command: str, tmp_path: Path) -> None:
    result = run(command, tmp_path)
    assert result.exit_code == 1
    assert result.output == f"Error: {tmp_path}: no plimsoll up runs here\n"


def test_a_cluster_is_looked_at_and_stopped_from_another_terminal() -> None:
    with short_directory() as directory:
        with up(directory, "--nodes", "1", "--hollow") as process:
            shown = run("status", directory)
            assert shown.exit_code == 0, shown.output
            assert f"pid {process.pid}; all of its parts answer." in shown.output
            told = json.loads(run("status", directory, "-o", "json").output)
            assert told["pid"] == process.pid
            parts = [(part["name"], part["address"]) for part in told["parts"]]
            assert parts == addresses.read(directory)
            assert all(part["answers"] for part in told["parts"])

            silent = "part  http://127.0.0.1:1/metrics\n"
            (directory / addresses.FILE_NAME).write_text(silent)
            result = run("status", directory)
            assert result.exit_code == 1
            assert "1 of its parts do not answer." in result.output

            stopped = run("stop", directory)
            assert (stopped.exit_code, process.wait(1)) == (0, 0), stopped.output
        assert run("status", directory).exit_code == 1
