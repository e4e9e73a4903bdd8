import json
import signal
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plimsoll.ui.cli.simulate import simulate
from tests.interrupts import interruptible

PLIMSOLL = Path(sys.executable).with_name("plimsoll")
QUIET = """
lasting: 1m
cluster:
  zones: [a, b]
  nodesPerRack: 2
  drivers: [{name: zonal.example, pools: [{per: zone, size: 20Gi}]}]
  classes: [{name: zonal, driver: zonal.example}]
  copies: {schedulers: 1, controllers: 1, provisioners: 1}
actions:
- {at: 0s, do: createPods, name: "burst", pods: 4}
"""
TOO_BIG = QUIET.replace("pods: 4", "pods: 4, size: 50Gi").replace(
    "lasting: 1m", "lasting: 1m\nsettling: 30s"
)


def run(tmp_path: Path, text: str, *arguments: str) -> Result:
    path = tmp_path / "scenario.yaml"
    path.write_text(text)
    return CliRunner().invoke(simulate, [str(path), *arguments])


def test_a_scenario_in_which_everything_runs_ends_with_0(tmp_path: Path) -> None:
    ended = run(tmp_path, QUIET)

    assert ended.exit_code == 0, ended.output
    assert "Every invariant held, and all 4 pods run in the end." in ended.stdout
    for title in ("Placement in the end", "Capacity", "Calls of drivers", "Pending time"):
        assert title in ended.stdout
    assert "of virtual time in" in ended.stderr


def test_pods_that_do_not_run_end_it_with_1_and_say_why(tmp_path: Path) -> None:
    ended = run(tmp_path, TOO_BIG)

    assert ended.exit_code == 1, ended.output
    assert "4 pods do not run" in ended.stdout
    assert "did not have enough free storage" in ended.stdout


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        pytest.param("cluster: 3", (), "scenario.yaml: cluster: must be keys", id="bad-file"),
        pytest.param(QUIET, ("--seed", "many"), "--seed", id="bad-option"),
        pytest.param(QUIET, ("--duration", "10"), "write it like 90s", id="bad-duration"),
        pytest.param(
            QUIET.replace("at: 0s", "at: 50s"),
            ("--duration", "20s"),
            "actions[0].at: is after the end",
            id="too-short",
        ),
        pytest.param(QUIET, ("--html", "/proc/no/such"), "--html", id="page-cannot-be-written"),
    ],
)
def test_bad_usage_ends_with_2(
    tmp_path: Path, text: str, arguments: tuple[str, ...], said: str
) -> None:
    ended = run(tmp_path, text, *arguments)

    assert ended.exit_code == 2
    assert said in ended.stderr


def test_a_page_that_cannot_be_written_is_told_before_the_run(tmp_path: Path) -> None:
    ended = run(tmp_path, QUIET, "--html", str(tmp_path / "no" / "report.html"))

    assert "No such file or directory" in ended.stderr
    assert "of virtual time in" not in ended.stderr


def test_the_same_file_and_seed_give_the_same_report(tmp_path: Path) -> None:
    pages = [tmp_path / "first.html", tmp_path / "second.html"]
    reports = [run(tmp_path, QUIET, "--html", str(page), "-o", "json").stdout for page in pages]

    assert reports[0] == reports[1]
    assert pages[0].read_text() == pages[1].read_text()


def test_another_seed_gives_another_run(tmp_path: Path) -> None:
    first, second = (
        json.loads(run(tmp_path, QUIET, "--seed", seed, "-o", "json").stdout) for seed in "12"
    )

    assert (first["seed"], second["seed"]) == (1, 2)
    assert first["digest"] != second["digest"]


def test_the_document_tells_of_every_pod(tmp_path: Path) -> None:
    document = json.loads(run(tmp_path, QUIET, "-o", "json").stdout)

    assert document["ok"] is True
    assert {pod["name"] for pod in document["pods"]} == {f"default/burst-{n}" for n in range(4)}
    assert all(pod["created"] <= pod["scheduled"] <= pod["running"] for pod in document["pods"])
    assert sum(document["samples"][-1]["runningByZone"].values()) == 4


def test_the_timeline_tells_what_processes_did(tmp_path: Path) -> None:
    ended = run(tmp_path, QUIET, "--timeline")

    assert "CreateVolume at zonal.example" in ended.stdout
    assert "nodes a-1: started, life 1" in ended.stdout


def test_ctrl_c_ends_a_long_run_with_a_report_of_what_has_happened(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(QUIET.replace("lasting: 1m", "lasting: 1000h"))
    process = subprocess.Popen(
        interruptible(PLIMSOLL, "simulate", path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stderr is not None
        # A slow machine reports pods that are still starting, every few seconds.
        told = next(line for line in process.stderr if "starting" not in line)
        process.send_signal(signal.SIGINT)
        report, rest = process.communicate(timeout=60)
    assert ": virtual time " in told
    assert told.endswith("pods: 4 running\n")
    assert process.returncode == 130
    assert "until then every invariant held." in report
    assert "Placement in the end" in report
    assert "Traceback" not in rest


class Page(HTMLParser):
    """What a browser would load, run and draw."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loaded += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_page_needs_neither_network_nor_scripts(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    run(tmp_path, QUIET, "--html", str(path))
    text = path.read_text()
    page = Page(text)

    assert page.loaded == []
    assert "script" not in page.tags
    assert "url(" not in text
    assert "://" not in text
    assert page.tags.count("svg") >= 4


def test_names_are_text_on_the_page_and_never_markup(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    named = tmp_path / "<script>.yaml"
    named.write_text(QUIET)
    CliRunner().invoke(simulate, [str(named), "--html", str(path)])

    assert "&lt;script&gt;" in path.read_text()
    assert "script" not in Page(path.read_text()).tags
