"""Comments, docstrings, messages, pages and names tell the actor, not an indefinite pronoun.

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
HIDDEN_NAME = re.compile(
    r"(?<![a-z])(?:(?:some|no|any|every)(?:body|one)|whoever)(?![a-z])", re.IGNORECASE
)
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


def names(path: Path) -> Iterator[str]:
    """Of everything that the module defines or takes."""
    source = path.read_text()
    if not HIDDEN_NAME.search(source):
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.AsyncFunctionDef(name=name) | ast.Name(id=name) | ast.arg(arg=name):
                yield name
            case _:
                pass


def test_names_name_the_actor() -> None:
    hidden = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in MODULES
        for name in names(path)
        if HIDDEN_NAME.search(name)
    ]
    assert hidden == []
