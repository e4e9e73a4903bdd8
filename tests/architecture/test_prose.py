"""Comments, docstrings, messages and pages name the actor instead of an indefinite pronoun.

Records of decisions are never edited, and generated pages repeat the code. Strings of tests are
names and data of their cases.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tools.reference.pages import PAGES
from tools.wrap import ROOT, pages

HIDDEN = re.compile(r"\b(?:some|no|any|every)(?:body|one)\b(?! of)|\bwhoever\b", re.IGNORECASE)
FOLDERS = ("src", "tests", "tools", "bench", "conformance", "examples")
SOURCE = ROOT / "src"
MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
WRITTEN = [page for page in pages() if page.name not in PAGES and page.parent.name != "adr"]


def comments(source: str) -> Iterator[str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return (token.string for token in tokens if token.type == tokenize.COMMENT)


def docstrings(source: str) -> Iterator[str]:
    """Texts that stand by themselves: of modules, classes, functions, and below fields."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text
            case _:
                pass


def strings(source: str) -> Iterator[str]:
    """Everything that a program may print, docstrings among it."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(value=str(text)):
                yield text
            case _:
                pass


def prose(path: Path) -> Iterator[str]:
    """Nothing of a file without such words: to parse all would take long."""
    source = path.read_text()
    if not HIDDEN.search(source):
        return
    if path.suffix == ".md":
        yield source
    else:
        yield from comments(source)
        yield from strings(source) if path.is_relative_to(SOURCE) else docstrings(source)


def test_the_actor_is_named() -> None:
    hidden = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in (*MODULES, *WRITTEN)
        for text in prose(path)
        if HIDDEN.search(text)
    ]
    assert hidden == []
