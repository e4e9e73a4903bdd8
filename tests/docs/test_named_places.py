"""What a document names is there: modules, folders, imports, make targets, versions of programs."""

import ast
import importlib
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll.apiserver.http.informational import API_LEVEL
from plimsoll.processes.controller.main import wanted_loops
from plimsoll.processes.controller.settings import ControllerSettings
from tests.docs.pages import DOCUMENTS, FENCE, ROOT, blocks, name_of

PACKAGE = ROOT / "src" / "plimsoll"
PACKAGES = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
TOPS = PACKAGES | {path.name for path in ROOT.iterdir() if path.is_dir()}
GLOSSARY = re.compile(r"^- \*\*(.+?)\*\*: ", re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
PLACE = re.compile(r"[\w.*<>-]+(?:/[\w.*<>-]*)*")
MODULE = re.compile(r"(?:plimsoll\.(?=\w)|(?=\w+\.\w+\.))(\w+(?:\.\w+)*)")
LINK_TO_MODULE = re.compile(r"\[([\w/]+\.py)\]\(([^)]+)\)")
TARGET = re.compile(r"^make ([a-z]+)", re.MULTILINE)
NAMED_IN_THE_MAP = re.compile(r"(?<![\w./`])(\w+\.py|\w+/)(?![\w/])")
COMPARED = {
    "kube-apiserver": "k8s.io/kubernetes",
    "csi-provisioner": "github.com/kubernetes-csi/external-provisioner/v5",
    "csi-resizer": "github.com/kubernetes-csi/external-resizer",
    "csi-snapshotter": "github.com/kubernetes-csi/external-snapshotter/v8",
    "csi-sanity": "github.com/kubernetes-csi/csi-test/v5",
}


def prose(document: Path) -> str:
    return FENCE.sub("", document.read_text())


def places(document: Path) -> Iterator[str]:
    """Paths below the repository or the package, with `*` for what stands for many."""
    for span in CODE.findall(prose(document)):
        path = span.partition(":")[0]
        is_below = "/" in path and path.partition("/")[0] in TOPS
        if PLACE.fullmatch(path) and (is_below or path.endswith(".py")):
            yield re.sub(r"<[^>]*>", "*", path)


def is_there(place: str) -> bool:
    pattern = place.rstrip("/")
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    return any(next(base.glob(pattern), None) for base in (ROOT, PACKAGE))


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_path_that_is_named_exists(document: Path) -> None:
    assert [place for place in places(document) if not is_there(place)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_a_link_that_shows_a_path_leads_there(document: Path) -> None:
    shown = LINK_TO_MODULE.findall(prose(document))
    assert [title for title, target in shown if not target.endswith(title)] == []


def is_importable(dotted: str) -> bool:
    """Whether the words are modules, and then what the last of them defines."""
    found: object = importlib.import_module("plimsoll")
    *path, last = dotted.split(".")
    for number, word in enumerate(path, 1):
        if not hasattr(found, word):
            found = importlib.import_module(".".join(["plimsoll", *path[:number]]))
        else:
            found = getattr(found, word)
    spec = importlib.util.find_spec(f"plimsoll.{dotted}") if hasattr(found, "__path__") else None
    return hasattr(found, last) or spec is not None


def imports(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.startswith("plimsoll."):
                yield from (f"{module.removeprefix('plimsoll.')}.{name.name}" for name in names)


def modules(document: Path) -> Iterator[str]:
    for span in CODE.findall(prose(document)):
        named = MODULE.match(span)
        if named and named.group(1).partition(".")[0] in PACKAGES and not span.endswith(".py"):
            yield named.group(1)
    for block in blocks(document):
        if block.language == "python":
            yield from imports(block.text)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_module_that_is_named_can_be_imported(document: Path) -> None:
    assert [dotted for dotted in modules(document) if not is_importable(dotted)] == []


def package_map() -> Iterator[tuple[Path, str]]:
    """Each line of the map: the folder that it is about, and what it says."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    shown = text.partition("## The package map")[2].partition("```text\n")[2].partition("```")[0]
    folders = {-1: ROOT}
    place = ROOT
    for line in shown.splitlines():
        indent = len(line) - len(line.lstrip())
        name = line.split()[0].rstrip(",")
        if name.endswith("/") and indent <= max(folders) + 4:
            above = max(depth for depth in folders if depth < indent)
            place = folders[above] / name
            folders = {d: p for d, p in folders.items() if d < indent} | {indent: place}
        yield place, line


@pytest.mark.parametrize(
    ("place", "line"), [pytest.param(*shown, id=shown[1].strip()) for shown in package_map()]
)
def test_the_package_map_names_what_is_there(place: Path, line: str) -> None:
    assert place.is_dir()
    lost = [
        name
        for name in NAMED_IN_THE_MAP.findall(line)
        if not (next(place.rglob(name.rstrip("/")), None) or (place.parent / name).exists())
    ]
    assert lost == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_make_target_that_is_named_exists(document: Path) -> None:
    text = document.read_text()
    spans = [*CODE.findall(FENCE.sub("", text)), *(b.text for b in blocks(document))]
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {target for span in spans for target in TARGET.findall(span)}
    assert sorted(named - targets) == []


@pytest.mark.parametrize("peer", COMPARED)
def test_the_readme_names_the_version_that_conformance_runs(peer: str) -> None:
    lines = (ROOT / "conformance" / "peers" / peer / "go.mod").read_text().splitlines()
    version = next(line.split()[-1] for line in lines if f"{COMPARED[peer]} v" in line)
    assert version.removeprefix("v") in (ROOT / "README.md").read_text()


def test_the_readme_names_the_version_of_the_api() -> None:
    assert f"Kubernetes 1.{API_LEVEL};" in (ROOT / "README.md").read_text()


def test_the_driver_tutorial_names_the_loops_that_run_by_default() -> None:
    shown = (ROOT / "docs" / "tutorial" / "first-driver.md").read_text()
    named = re.search(r"^plimsoll controller ready; .*; loops (.*)$", shown, re.MULTILINE)
    assert named is not None
    on_its_cluster = ControllerSettings()
    assert named.group(1).split(", ") == wanted_loops(on_its_cluster, on_cluster=False)


def glossary() -> list[str]:
    return GLOSSARY.findall((ROOT / "docs" / "glossary.md").read_text())


def test_the_glossary_is_sorted() -> None:
    assert glossary() == sorted(glossary(), key=str.casefold)


def test_every_word_of_the_glossary_is_used_elsewhere() -> None:
    pages = [page for page in DOCUMENTS if page.name != "glossary.md"]
    texts = (path.read_text() for path in (*pages, *PACKAGE.rglob("*.py")))
    used = re.sub(r"[\s_]+", " ", "\n".join(texts)).casefold()
    words = [word for entry in glossary() for word in entry.casefold().split(", ")]
    assert [word for word in words if word not in used] == []
