"""The rules that no linter knows."""

import ast
import re
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from tools.structure import crowded_folders, journey_of_a_decision

from tests.conftest import LONGEST

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "plimsoll"
MODULES = sorted(
    path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if "gen" not in path.parts
)
PACKAGES = [module for module in MODULES if module.name == "__init__.py"]
FLOW = ("api", "cache", "decide", "enact")
MODEL = ("apiserver", "model")
FLOW_MODULES = [
    module
    for module in MODULES
    if (module.parts[0] in FLOW or module.parts[:2] == MODEL) and module.name != "__init__.py"
]
MOST_BORDERS = 77
"""Less than half of what one decision crossed before each rule had its one place."""
VAGUE = frozenset({"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"})

START = re.compile(r"\bStart(?:: | with | at | in | reading at )`([^`]+)`")
SUPERVISOR = Path("runtime/supervise.py")

# Where one test covers a family: a package or module, and the test that reads it as a whole.
FAMILIES = {
    # Columns are compared with recorded tables, whichever module prints them.
    Path("apiserver/model/printing"): Path("apiserver/model/test_printing.py"),
    # A message is planned, read and valued in one go.
    Path("apiserver/model/messages"): Path("apiserver/model/test_protobuf.py"),
    # The document is one; its paths and its prose are parts of it.
    Path("apiserver/model/openapi/paths.py"): Path("apiserver/model/openapi/test_document.py"),
    Path("apiserver/model/openapi/prose.py"): Path("apiserver/model/openapi/test_document.py"),
    # What only the strategic patch needs.
    Path("apiserver/model/patch/keyed_lists.py"): Path("apiserver/model/patch/test_strategic.py"),
    Path("apiserver/model/patch/patch_rules.py"): Path("apiserver/model/patch/test_strategic.py"),
    # The specification inside a Job, and of a CronJob's Jobs.
    Path("apiserver/model/kinds/workloads/job_spec.py"): Path(
        "apiserver/model/kinds/workloads/test_job.py"
    ),
    # An expression is read, checked and evaluated in one go.
    Path("apiserver/model/custom/cel"): Path("apiserver/model/custom/cel/test_program.py"),
    Path("apiserver/model/custom/cel/library"): Path("apiserver/model/custom/cel/test_program.py"),
    # A definition is accepted as a whole, or told what is wrong with it.
    Path("apiserver/model/custom/definition"): Path(
        "apiserver/model/custom/definition/test_rules.py"
    ),
    # What a schema says of numbers is told with everything else that it says.
    Path("apiserver/model/custom/values/numbers.py"): Path(
        "apiserver/model/custom/test_checking.py"
    ),
    Path("apiserver/model/custom/nodes.py"): Path("apiserver/model/custom/test_checking.py"),
    # The rules of a kind, as it is served.
    Path("apiserver/model/custom/rules.py"): Path("apiserver/model/custom/test_served_kind.py"),
    # Protocols without a line to run: what the decisions read.
    Path("decide/claims/view.py"): Path("decide/claims/test_claim.py"),
    Path("decide/csi/snapshots/view.py"): Path("decide/csi/snapshots/test_snapshot.py"),
    Path("decide/provisioning/view.py"): Path("decide/provisioning/test_claims.py"),
    # What `Judge` puts together: it has no line to run.
    Path("decide/scheduling/rule_fit.py"): Path("decide/scheduling/test_judge.py"),
    # What the index keeps: only what is reserved in the end can be noticed.
    Path("decide/scheduling/reservations"): Path("decide/scheduling/reservations/test_index.py"),
}


def tree(module: Path) -> ast.Module:
    return ast.parse((PACKAGE / module).read_text())


def nodes(module: Path) -> Iterator[ast.AST]:
    return ast.walk(tree(module))


def own_test(module: Path) -> Path:
    """`apiserver/model/kinds/pods/x.py` ↔ `tests/apiserver/model/kinds/pods/test_x.py`."""
    return ROOT / "tests" / module.with_name(f"test_{module.name}")


@pytest.mark.parametrize("module", FLOW_MODULES, ids=str)
def test_every_module_of_the_flow_has_its_test(module: Path) -> None:
    family = FAMILIES.get(module) or FAMILIES.get(module.parent)
    assert own_test(module).exists() or (family and (ROOT / "tests" / family).exists())


@pytest.mark.parametrize("member", FAMILIES, ids=str)
def test_a_family_is_named_only_where_it_is_one(member: Path) -> None:
    assert (PACKAGE / member).exists()
    assert not (member.suffix and own_test(member).exists())


@pytest.mark.parametrize("package", PACKAGES, ids=str)
def test_a_package_begins_with_a_docstring_and_holds_no_code(package: Path) -> None:
    parsed = tree(package)
    assert ast.get_docstring(parsed)
    assert len(parsed.body) == 1


@pytest.mark.parametrize("package", PACKAGES, ids=str)
def test_where_a_package_says_to_start_there_is_a_module(package: Path) -> None:
    text = ast.get_docstring(tree(package)) or ""
    for name in START.findall(text):
        place = Path(*name.removesuffix(".py").removeprefix("plimsoll.").split("."))
        near = (PACKAGE / package.parent / place, PACKAGE / place)
        assert any(path.with_suffix(".py").exists() or path.is_dir() for path in near), name


def test_a_folder_is_a_map_and_not_a_list() -> None:
    """One that needs more modules than this is sorted into folders."""
    assert crowded_folders() == {}


def _dotted(module: Path) -> str:
    return ".".join(("plimsoll", *module.with_suffix("").parts))


def _imported(module: Path) -> Iterator[str]:
    """What may be a module: names that are imported from a package are modules of it."""
    for node in nodes(module):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_module_imports_in_a_circle() -> None:
    """Not for its types either: two modules that need each other are one idea, or three."""
    names = {_dotted(module) for module in MODULES if module not in PACKAGES}
    imports = {_dotted(module): names.intersection(_imported(module)) for module in MODULES}

    TopologicalSorter(imports).prepare()


def _passes_on(handler: ast.ExceptHandler) -> bool:
    """It tidies up and lets the exception go its way."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def _catches_everything(node: ast.AST) -> bool:
    if not isinstance(node, ast.ExceptHandler) or _passes_on(node):
        return False
    if node.type is None:
        return True
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return any(
        isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException") for kind in kinds
    )


# Other people's provisioners are called here; whatever they raise is theirs, not a bug of ours.
CALLS_FOREIGN_CODE = {
    Path("processes/controller/in_process/calls.py"),
    Path("processes/controller/in_process/provisioners/registry.py"),
    Path("wire/csi/server.py"),
}


@pytest.mark.parametrize(
    "module", [m for m in MODULES if m != SUPERVISOR and m not in CALLS_FOREIGN_CODE], ids=str
)
def test_only_the_supervisor_catches_every_exception(module: Path) -> None:
    assert [node.lineno for node in nodes(module) if _catches_everything(node)] == []  # type: ignore[attr-defined]  # handlers have lines


@pytest.mark.parametrize("module", [m for m in MODULES if m.parts[0] != "ui"], ids=str)
def test_only_the_user_interface_prints(module: Path) -> None:
    prints = [
        node.lineno
        for node in nodes(module)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert prints == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    words = {module: set(module.with_suffix("").name.split("_")) for module in MODULES}
    vague = [module for module, parts in words.items() if parts & VAGUE]
    packages = [module for module in MODULES if VAGUE & set(module.parts[:-1])]
    assert vague + packages == []


def test_the_changelog_speaks_of_the_current_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    headings = [
        line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")
    ]
    assert any(heading.split()[1].strip("[]") == project["version"] for heading in headings)


def test_a_decision_of_the_kernel_crosses_few_borders_between_modules() -> None:
    """Rules that concern neither the pod nor the cluster are left again at once."""
    assert journey_of_a_decision().borders <= MOST_BORDERS


@pytest.mark.parametrize("file", LONGEST)
def test_files_that_are_to_come_first_are_there(file: str) -> None:
    assert (ROOT / file).is_file()
