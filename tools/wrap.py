"""Wraps Markdown at 100 columns: `python -m tools.wrap` rewrites every page of the repository.

Only a paragraph, list item or quotation with a line that is too long is laid out anew. Headings,
table rows, comments and fenced blocks stay as they are, because Markdown cannot break them. Code
spans and links are never torn apart, so a line that holds nothing else may be longer.
"""

import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("docs", "examples", "conformance", "tests")
COLUMNS = 100
FENCED = re.compile(r"(^[ ]*```.*?^[ ]*```[ ]*$)", re.MULTILINE | re.DOTALL)
STAYS = re.compile(r"\s*(?:$|#|\||<!--)")
MARK = re.compile(r"\s*(?:[-*+] |\d+\. |> )")
PIECE = re.compile(r"(?:`+[^`]*`+|!?\[[^\]]*\]\([^)]*\)|\S)+")
LOOKS_LIKE_A_MARK = re.compile(r"(?:[-*+>]|#+|\d+[.)])$")


def pages() -> list[Path]:
    """Every Markdown file that belongs to the repository."""
    below = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md")]
    return sorted([*ROOT.glob("*.md"), *below])


def wrapped(text: str) -> str:
    """The same page, with every paragraph that was too wide laid out anew."""
    return "".join(
        part if number % 2 else "\n".join(_lines(part.split("\n")))
        for number, part in enumerate(FENCED.split(text))
    )


def _lines(lines: list[str]) -> Iterator[str]:
    while lines:
        first, *rest = lines
        more = [] if STAYS.match(first) else list(takewhile(_goes_on, rest))
        yield from _laid_out([first, *more])
        lines = rest[len(more) :]


def _goes_on(line: str) -> bool:
    """Whether the line belongs to the paragraph before it."""
    return not STAYS.match(line) and not MARK.match(line)


def _laid_out(block: list[str]) -> list[str]:
    is_narrow = max(map(len, block)) <= COLUMNS
    if is_narrow or STAYS.match(block[0]):
        return block
    mark = MARK.match(block[0]) or re.match(r"\s*", block[0])
    start = mark.group() if mark else ""
    words = _words(" ".join([block[0][len(start) :], *block[1:]]))
    return list(_filled(words, start))


def _filled(words: Iterator[str], start: str) -> Iterator[str]:
    line = start + next(words)
    for word in words:
        if len(line) + 1 + len(word) > COLUMNS:
            yield line
            line = " " * len(start) + word
        else:
            line += f" {word}"
    yield line


def _words(text: str) -> Iterator[str]:
    """Pieces between which a line may end; none of them would begin a list in front of a line."""
    pieces = PIECE.findall(text)
    word = pieces[0]
    for piece in pieces[1:]:
        if LOOKS_LIKE_A_MARK.match(piece):
            word += f" {piece}"
        else:
            yield word
            word = piece
    yield word


def main() -> None:
    for path in pages():
        text = path.read_text()
        if (new := wrapped(text)) != text:
            path.write_text(new)
            print(f"wrapped {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
