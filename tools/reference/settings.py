"""docs/reference/settings.md: the structs that say how a process behaves, with their defaults."""

import ast

from tools.reference.markdown import code, document, table
from tools.reference.sources import Class, Member, classes

INTRODUCTION = """\
One frozen struct for each part that can be set. [The command line](cli.md) reaches those of the
processes; the others are for programs that use Plimsoll as a library, and for tests. A setting
without a default must be given."""
NOT_SET_BY_PEOPLE = frozenset({"Clock", "Ids"})
"""Where time and identity come from is a matter of tests."""


def page() -> str:
    found = [
        struct
        for struct in classes("runtime", "wire", "cache", "enact", "processes", "simulator", "ui")
        if struct.name.endswith("Settings") and struct.members
    ]
    return document("Settings", INTRODUCTION, *map(_section, found))


def _section(struct: Class) -> str:
    rows = [
        (code(member.name), code(member.annotation), _default(member), member.about)
        for member in struct.members
        if member.annotation not in NOT_SET_BY_PEOPLE
    ]
    parts = [f"## {struct.module}.{struct.name}", struct.about]
    parts.append(table(("setting", "type", "default", "meaning"), rows))
    return "\n\n".join(part for part in parts if part)


def _default(member: Member) -> str:
    match member.value:
        case None:
            return ""
        case ast.Call(keywords=[ast.keyword(arg="default_factory", value=factory)]):
            return f"a new {code(ast.unparse(factory))}"
        case ast.Call(func=ast.Name(id="timedelta"), args=[], keywords=parts):
            return ", ".join(f"{ast.unparse(part.value)} {part.arg}" for part in parts)
        case ast.Constant(value=""):
            return "empty"
        case expression:
            return code(ast.unparse(expression))
