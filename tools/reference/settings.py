"""docs/reference/settings.md: the structs that say how a part behaves, with their defaults."""

import ast
import importlib
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from msgspec.structs import FieldInfo, fields

from plimsoll.runtime.config import Settings
from plimsoll.runtime.flags import description, plain_type
from plimsoll.ui.cli.main import COMMANDS
from tools.reference.markdown import code, document, table
from tools.reference.sentences import SETTINGS
from tools.reference.sources import Class, Member, classes

INTRODUCTION = """\
One frozen struct for each part that can be set; a setting without a default must be given. [The
command line](cli.md) reaches those of the processes: `metrics_port` is `--metrics-port`, in the
file of `--config` (YAML) `metricsPort`, in the environment `PLIMSOLL_CONTROLLER_METRICS_PORT`.
Flags win over the environment, the environment over the file; an unknown name is an error. The API
server and the provisioner take flags only, but for what the provisioner finds in csi-provisioner's
environment: NAMESPACE, POD_NAME, NODE_NAME, POD_NAMESPACE and KUBECONFIG. The other structs are
for programs that use Plimsoll as a library."""
NOT_SET_BY_PEOPLE = frozenset({"Clock", "Ids"})
"""Where time and identity come from is a matter of tests."""
PLACES = ("enact", "cache", "runtime", "apiserver", *(f"processes/{name}" for name in COMMANDS))


def page() -> str:
    found = [
        struct for struct in classes(*PLACES) if struct.name.endswith("Settings") and struct.members
    ]
    # Those of the processes first: they are what people look for.
    found.sort(key=lambda struct: not struct.module.startswith(("apiserver.", "processes.")))
    return document("Settings", INTRODUCTION, *map(_section, found))


def _section(struct: Class) -> str:
    fields = _fields(struct)
    rows = [
        (
            code(member.name),
            code(_written(fields[member.name].type) if fields else member.annotation),
            _default(struct, member),
            description(fields[member.name]) if fields else _about(struct, member),
        )
        for member in struct.members
        if member.annotation not in NOT_SET_BY_PEOPLE
    ]
    head = f"## {struct.module}.{struct.name}"
    parts = (head, struct.about, table(("setting", "type", "default", "meaning"), rows))
    return "\n\n".join(part for part in parts if part)


def _fields(struct: Class) -> dict[str, FieldInfo]:
    """Of a struct that describes its own fields; those of others are read from the source."""
    found = getattr(importlib.import_module(f"plimsoll.{struct.module}"), struct.name)
    return {f.name: f for f in fields(found)} if issubclass(found, Settings) else {}


def _written(annotation: Any) -> str:
    """A type as the source writes it, without metadata."""
    annotation = plain_type(annotation)
    parts = get_args(annotation)
    if isinstance(annotation, UnionType):
        return " | ".join(map(_written, parts))
    if parts:
        return f"{get_origin(annotation).__name__}[{', '.join(map(_written, parts))}]"
    if annotation in (Ellipsis, NoneType):
        return {Ellipsis: "...", NoneType: "None"}[annotation]
    return str(annotation.__name__)


def _about(struct: Class, member: Member) -> str:
    return member.about or SETTINGS.get((struct.module, struct.name), {}).get(member.name, "")


def _default(struct: Class, member: Member) -> str:
    match member.value:
        case None:
            return ""
        case ast.Call(keywords=[ast.keyword(arg="default_factory")]) | ast.Constant(value=""):
            return "empty"
        case ast.Call(func=ast.Name(id="timedelta"), args=[], keywords=[part]):
            return _duration(ast.unparse(part.value), part.arg or "")
        case ast.Name(id=name):
            constant = getattr(importlib.import_module(f"plimsoll.{struct.module}"), name)
            return code(constant if isinstance(constant, str) else name)
        case ast.Constant(value=value):
            return code(str(value))
        case expression:
            return code(ast.unparse(expression))


def _duration(number: str, unit: str) -> str:
    return f"{number} {unit.removesuffix('s') if number == '1' else unit}"
