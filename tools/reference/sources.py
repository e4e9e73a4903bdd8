"""Reads the package's source: enums and structs with the sentences below their members."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "plimsoll"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    name: str
    annotation: str
    value: ast.expr | None
    about: str

    @property
    def text(self) -> str:
        """The value, where it is a text."""
        return str(ast.literal_eval(self.value)) if isinstance(self.value, ast.Constant) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Class:
    module: str
    """Below the package: `decide.claims.match`."""
    name: str
    bases: tuple[str, ...]
    about: str
    members: tuple[Member, ...]

    @property
    def path(self) -> str:
        return f"src/plimsoll/{self.module.replace('.', '/')}.py"


def module_tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def modules(*below: str) -> Iterator[Path]:
    for directory in below:
        yield from sorted((PACKAGE / directory).rglob("*.py"))


def classes(*below: str) -> Iterator[Class]:
    """Those at the top of their modules, in the order of modules and lines."""
    for path in modules(*below):
        for node in module_tree(path).body:
            if isinstance(node, ast.ClassDef):
                yield _class(node, path)


def _class(node: ast.ClassDef, path: Path) -> Class:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return Class(
        module=".".join(parts),
        name=node.name,
        bases=tuple(ast.unparse(base) for base in node.bases),
        about=ast.get_docstring(node) or "",
        members=tuple(_members(node.body)),
    )


def _members(body: list[ast.stmt]) -> Iterator[Member]:
    for statement, following in zip(body, [*body[1:], None], strict=True):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield Member(name=name, annotation="", value=value, about=_text(following))
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind, value=value):
                yield Member(
                    name=name, annotation=ast.unparse(kind), value=value, about=_text(following)
                )
            case _:
                pass


def _text(statement: ast.stmt | None) -> str:
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text
        case _:
            return ""
