"""Markdown is wrapped at 100 columns.

Table rows, headings, and what a program prints (blocks marked `text`) may be wider, and so may a
line that holds nothing but one link, code span or address: Markdown cannot break them.
"""

import re
from pathlib import Path

import pytest
from tools.wrap import COLUMNS, FENCED, ROOT, pages, wrapped

OUTPUT = re.compile(r"^ *```text.*?^ *```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^ *```(.*?)^ *```", re.MULTILINE | re.DOTALL)
ROWS = re.compile(r"(?:^ *\|.*\n?)+", re.MULTILINE)
TABLE = re.compile(r" *\|.*\n *\|[ :|-]+\|\n")
WIDE = "word " * 30


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_prose_is_wrapped(page: Path) -> None:
    text = page.read_text()
    assert wrapped(text) == text, "run `make format`"


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_reader_types_is_wrapped(page: Path) -> None:
    typed = BLOCK.findall(OUTPUT.sub("", page.read_text()))
    assert [line for block in typed for line in block.splitlines() if len(line) > COLUMNS] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_rows_stand_below_the_head_of_their_table(page: Path) -> None:
    """Behind an empty line they would be shown as text."""
    outside = FENCED.sub("", page.read_text())
    assert [rows for rows in ROWS.findall(outside) if not TABLE.match(rows)] == []


def test_a_paragraph_is_filled_and_keeps_its_words() -> None:
    page = wrapped(f"# {WIDE}\n\n{WIDE}\n")
    assert page.split() == ["#", *(WIDE * 2).split()]
    assert page.splitlines()[2:] == [("word " * 20).strip(), ("word " * 10).strip()]


def test_a_list_item_goes_on_below_its_text() -> None:
    assert wrapped(f"1. {WIDE}\n2. two").splitlines() == [
        "1. " + ("word " * 19).strip(),
        "   " + ("word " * 11).strip(),
        "2. two",
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"| {WIDE} |\n| --- |", id="a table"),
        pytest.param(f"```sh\n{WIDE}\n```", id="a fenced block"),
        pytest.param(f"- item\n\n  ```text\n  {WIDE}\n  ```", id="a block in a list"),
        pytest.param(f"[{'x' * 60}](https://{'y' * 60})", id="a link alone"),
        pytest.param("short\nlines stay", id="a narrow paragraph"),
    ],
)
def test_what_cannot_be_broken_or_is_narrow_stays(text: str) -> None:
    assert wrapped(text) == text


def test_code_and_links_are_not_torn_apart() -> None:
    code, link = "`plimsoll explain pod/web`", "[the life of a claim](ARCHITECTURE.md)"
    page = wrapped(" ".join(["word"] * 17 + [code] * 9 + [link] * 9))
    assert page.count(code) == page.count(link) == 9


def test_no_line_begins_with_what_would_be_a_list() -> None:
    page = wrapped("word " * 19 + "1000 - 1 + 2 " * 5)
    assert not [line for line in page.splitlines() if line[:2] in ("- ", "+ ")]
