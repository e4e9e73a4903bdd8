import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import runner


def a_case(a: str, value: str, **more: Any) -> dict[str, Any]:
    shown = {"value": value, "milliValue": value + "000", "asInt64": value, "asDec": value}
    same = {"string": a, "canonical": a, "format": "DecimalSI", "sign": 1, "isZero": False}
    return {"id": a, "input": {"a": a}, "expect": {"a": shown | same}} | more


def written(path: Path, *cases: dict[str, Any]) -> Path:
    text = "\n".join(json.dumps(case) for case in cases).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def test_a_file_of_right_answers_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "quantity.jsonl.gz", a_case("1", "1"), a_case("2", "2"))
    assert runner.report([file], max_diffs=3) == 0
    assert capsys.readouterr().out == "quantity: 2 passed, 0 failed\n2 passed, 0 failed\n"


def test_the_first_differences_are_shown_in_full(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = [a_case(str(number), "7", oracle="quantity") for number in (1, 2, 3)]
    assert runner.report([written(tmp_path / "any.jsonl", *cases)], max_diffs=2) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "quantity: 0 passed, 3 failed"
    assert [line for line in lines if line.startswith("  case")] == [
        '  case     "1"',
        '  case     "2"',
    ]
    assert lines[-1] == "0 passed, 3 failed"


def test_a_case_that_crashes_our_code_is_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = {"oracle": "quantity", "input": {"a": 5}, "expect": {}}
    assert runner.report([written(tmp_path / "x.jsonl", broken)], max_diffs=1) == 1
    assert "TypeError" in capsys.readouterr().out


def test_an_oracle_without_code_is_not_yet_and_fails_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = {"oracle": "teleport", "input": {}, "expect": {}}
    assert runner.report([written(tmp_path / "x.jsonl", case)], max_diffs=1) == 0
    assert capsys.readouterr().out == "teleport: not yet (1 cases)\n0 passed, 0 failed\n"


def test_conversations_are_left_to_those_who_replay_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "talk.jsonl", {"id": "1", "steps": []})
    assert runner.report([tmp_path], max_diffs=1) == 0
    assert "talk: 1 conversations, replayed by tests.conversations" in capsys.readouterr().out


def test_what_we_do_not_copy_is_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = a_case("1", "7", tags=["upstream-panic"])
    assert runner.report([written(tmp_path / "quantity.jsonl", case)], max_diffs=1) == 0
    assert "quantity: 0 passed, 0 failed, 1 not compared" in capsys.readouterr().out
