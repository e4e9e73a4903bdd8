from pathlib import Path

import pytest
from click.testing import CliRunner

from plimsoll.ui.cli.main import cli


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((), "--monitors: must be given"),
        (("--monitors=10.0.0.1",), "--key-file: must be given"),
        (("--monitors=10.0.0.1", "--key-file=/nonexistent/key"), "No such file"),
        (("--size=0",), "--size"),
        (
            ("--monitors=m", "--key-file=/dev/null", "--file-system=csi", "--journal=j"),
            "a file system has the journal in its metadata pool",
        ),
    ],
    ids=["no-monitors", "no-key", "no-such-key", "no-copies", "journal-of-files"],
)
def test_bad_usage_is_refused_with_a_reason(flags: tuple[str, ...], said: str) -> None:
    outcome = CliRunner().invoke(cli, ["ceph", "make-pools", *flags])
    assert outcome.exit_code == 2
    assert said in outcome.output


def test_a_key_is_never_shown(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("secret\x00text")
    flags = ["--monitors=10.0.0.1", f"--key-file={key}"]
    outcome = CliRunner().invoke(cli, ["ceph", "make-pools", *flags])
    assert outcome.exit_code == 2
    assert "holds no key" in outcome.output
    assert "secret" not in outcome.output
