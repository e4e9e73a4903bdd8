"""Documents tell the truth: generated pages are fresh, links lead somewhere, commands exist."""

import ast
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import click
import pytest
from tools.reference.pages import DIRECTORY, PAGES

from plimsoll.ui.cli.main import COMMANDS, cli
from tests.docs.pages import DOCUMENTS, FENCE, ROOT, Block, blocks, name_of

PACKAGE = ROOT / "src" / "plimsoll"
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
REFERENCE = re.compile(r"`((?:[\w.]+/)*\w+\.py):([A-Za-z_][\w.]*)`")
SYMBOL = re.compile(r"^`([A-Za-z_][\w.]*)(?:\(\))?`$")
OF_ONE_MACHINE = re.compile(r"(?<![\w.])/(?:root|work|home|tmp)/(?!shelf)\S*")
MAKES_METRIC = frozenset({"counter", "gauge", "histogram", "Counter", "Gauge", "Histogram"})

MAKES_EVENT = frozenset({"told", "warned", "_tell", "_events"})
CAMEL_CASE = re.compile(r"^[A-Z][a-z]+(?:[A-Z][a-z]+)+$")


def prose(document: Path) -> str:
    return FENCE.sub("", document.read_text())


def marked(language: str) -> list[tuple[Path, Block, str]]:
    """Blocks to run, each with the output that is shown below it."""
    found = []
    for document in DOCUMENTS:
        for block, shown in pairwise([*blocks(document), Block("", "", "")]):
            if block.language == language and block.is_run:
                found.append((document, block, shown.text if shown.language == "text" else ""))
    return found


# Generated pages


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_what_the_code_says(name: str) -> None:
    assert (DIRECTORY / name).read_text() == PAGES[name](), "run `make docs`"


def metric_names(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text())):
        match node:
            case ast.Call(
                func=ast.Attribute(attr=maker) | ast.Name(id=maker),
                args=[ast.Constant(value=str(name)), *_],
            ) if maker in MAKES_METRIC:
                yield name


@pytest.mark.parametrize("place", ["runtime", "enact", *(f"processes/{name}" for name in COMMANDS)])
def test_every_metric_of_a_command_is_documented(place: str) -> None:
    page = (DIRECTORY / "metrics.md").read_text()
    names = {name for module in (PACKAGE / place).rglob("*.py") for name in metric_names(module)}
    assert [name for name in sorted(names) if f"`{name}" not in page] == []


def event_reasons(module: Path) -> Iterator[str]:
    """Texts in CamelCase that are handed to what makes events."""
    for node in ast.walk(ast.parse(module.read_text())):
        match node:
            case ast.Call(func=ast.Name(id=maker) | ast.Attribute(attr=maker), args=arguments):
                texts = [a.value for a in arguments if isinstance(a, ast.Constant)]
                if maker in MAKES_EVENT:
                    yield from (t for t in texts if isinstance(t, str) and CAMEL_CASE.match(t))
            case _:
                pass


def test_every_event_is_documented() -> None:
    page = (DIRECTORY / "reasons.md").read_text()
    modules = [*(PACKAGE / "decide").rglob("*.py"), *(PACKAGE / "processes").rglob("*.py")]
    reasons = {reason for module in modules for reason in event_reasons(module)}
    assert [reason for reason in sorted(reasons) if f"`{reason}`" not in page] == []


# Links and references


def headings(document: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", prose(document), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_relative_link_leads_somewhere(document: Path) -> None:
    lost = []
    for _, target in LINK.findall(prose(document)):
        path, _, anchor = target.partition("#")
        if "://" in path:
            continue
        place = (document.parent / path).resolve() if path else document
        is_there = place.exists() and (not anchor or anchor in headings(place))
        if not is_there:
            lost.append(target)
    assert lost == []


def symbols(module: Path) -> set[str]:
    """Names that the module defines at its top, and those of its classes as `Class.name`."""
    found: set[str] = set()
    for node in ast.parse(module.read_text()).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name, body=body):
                members = (getattr(member, "name", "") for member in body)
                found |= {name, *(f"{name}.{member}" for member in members if member)}
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case _:
                pass
    return found


def code_references(document: Path) -> Iterator[tuple[Path, str]]:
    """From links like [`decide_claim`](….py), and from words like `decide/plan.py:Plan`."""
    text = prose(document)
    for title, target in LINK.findall(text):
        symbol = SYMBOL.match(title)
        if target.endswith(".py") and symbol:
            yield (document.parent / target).resolve(), symbol.group(1)
    for path, symbol in REFERENCE.findall(text):
        places = [base / path for base in (PACKAGE, ROOT)]
        yield next((place for place in places if place.exists()), places[0]), symbol


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_function_that_is_named_exists(document: Path) -> None:
    named = list(code_references(document))
    assert [f"{p}:{s}" for p, s in named if not p.exists() or s not in symbols(p)] == []


def test_the_package_map_shows_every_package() -> None:
    shown = (ROOT / "ARCHITECTURE.md").read_text()
    packages = [path.parent.relative_to(PACKAGE) for path in PACKAGE.rglob("__init__.py")]
    near = [package for package in packages if len(package.parts) in (1, 2)]
    assert [str(package) for package in near if f"{package.name}/" not in shown] == []


def test_the_readme_tells_of_every_command() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [name for name in COMMANDS if f"`plimsoll {name}" not in readme] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_no_document_speaks_of_one_machine(document: Path) -> None:
    assert OF_ONE_MACHINE.findall(document.read_text()) == []


# Commands


def commands(document: Path) -> Iterator[list[str]]:
    for block in blocks(document):
        for line in block.lines if block.language == "sh" else ():
            if line.startswith("plimsoll "):
                yield shlex.split(line.partition(" | ")[0], comments=True)[1:]


def unknown_words(words: list[str]) -> Iterator[str]:
    """Options and subcommands that the command line does not have."""
    command: click.Command = cli
    context = click.Context(cli)
    known = {"-h", "--help"}
    for word in words:
        known |= {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
        if word.startswith("-"):
            if word.partition("=")[0] not in known:
                yield word
        elif isinstance(command, click.Group):
            found = command.get_command(context, word)
            if found is None and command is cli:
                yield word
            command = found or command


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_command_and_option_that_is_shown_exists(document: Path) -> None:
    wrong = [(words, list(unknown_words(words))) for words in commands(document)]
    assert [(words, unknown) for words, unknown in wrong if unknown] == []


def run(*command: str, **environment: str) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, **environment}
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def without_numbers(text: str) -> list[str]:
    named = UID.sub("uid", text)
    return [re.sub(r"\d+", "0", line).strip() for line in named.splitlines()]


@pytest.mark.parametrize(("document", "block", "shown"), marked("sh"), ids=str)
def test_a_marked_command_prints_what_is_shown(document: Path, block: Block, shown: str) -> None:
    """But for numbers: ports, times and revisions differ from run to run."""
    if block.text == "make demo\n" and os.geteuid() != 0:
        pytest.skip("the demo is shown with mounts, which need root")
    printed = without_numbers(
        "".join(run(*shlex.split(line), **block.environment) for line in block.lines)
    )
    missing = [line for line in without_numbers(shown) if line not in printed]
    assert missing == [], name_of(document)


@pytest.mark.parametrize(("document", "block", "shown"), marked("python"), ids=str)
def test_a_marked_program_prints_what_is_shown(document: Path, block: Block, shown: str) -> None:
    assert run(sys.executable, "-c", block.text) == shown, name_of(document)
