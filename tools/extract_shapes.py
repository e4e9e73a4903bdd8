"""Read how the API's structs are serialized, and write it down as data.

An OpenAPI schema says what a field may hold, but not what the server writes when the field is
empty: that depends on whether the field is a pointer and whether its tag says `omitempty` or
`omitzero`. This script reads those facts from the `types*.go` files of the API modules and writes
`shapes.json.gz`: schema → field → sum of POINTER, OMIT_EMPTY, OMIT_ZERO, in the order in which the
struct lists its fields.

    python tools/extract_shapes.py MODULES [--version v0.36.3]

MODULES is the directory that holds `api@VERSION`, `apimachinery@VERSION` and so on.
"""

import argparse
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TABLES = Path(__file__).parents[1] / "src" / "plimsoll" / "apiserver" / "model" / "tables"

POINTER = 1
OMIT_EMPTY = 2
OMIT_ZERO = 4

# How schema names begin, and the module and folder that define what they name.
PACKAGES = (
    ("io.k8s.api.", "api", ""),
    ("io.k8s.apimachinery.pkg.", "apimachinery", "pkg"),
    ("io.k8s.apiextensions-apiserver.pkg.", "apiextensions-apiserver", "pkg"),
    ("io.k8s.kube-aggregator.pkg.", "kube-aggregator", "pkg"),
)

STRUCT = re.compile(r"^type (\w+) struct \{")
FIELD = re.compile(r"^\s+(?:(\w+)\s+)?(\*?)([\w.\[\]*]+)\s+`(.*)`")
GENERATED = re.compile(r"generated|_test")
TAG = re.compile(r'json:"([^"]*)"')


@dataclass(frozen=True)
class Field:
    name: str
    flags: int
    inlined: str = ""
    """The type whose fields belong to the parent."""


Structs = dict[str, list[Field]]


def parse_field(line: str) -> Field | None:
    found = FIELD.match(line)
    tag = TAG.search(found[4]) if found else None
    if not found or not tag or tag[1] == "-":
        return None
    name, *options = tag[1].split(",")
    if not name:
        return Field("", 0, inlined=found[3])
    flags = POINTER if found[2] else 0
    flags |= OMIT_EMPTY if "omitempty" in options else 0
    flags |= OMIT_ZERO if "omitzero" in options else 0
    return Field(name, flags)


def parse_structs(text: str) -> Structs:
    structs: Structs = {}
    fields: list[Field] | None = None
    for line in text.splitlines():
        if opened := STRUCT.match(line):
            fields = structs.setdefault(opened[1], [])
        elif line.startswith("}"):
            fields = None
        elif fields is not None and (field := parse_field(line)):
            fields.append(field)
    return structs


class Modules:
    """The structs of all packages, read when they are first asked for."""

    def __init__(self, root: Path, version: str) -> None:
        self._root = root
        self._version = version
        self._packages: dict[str, Structs] = {}

    def fields(self, schema: str) -> Iterator[tuple[str, int]]:
        package, _, name = schema.rpartition(".")
        # What is too new for these sources was often there before, in a version on trial.
        for candidate in (package, *self._versions_on_trial(package)):
            if name in self._structs(candidate):
                yield from self._flattened(candidate, name)
                return

    def _flattened(self, package: str, name: str) -> Iterator[tuple[str, int]]:
        for field in self._structs(package)[name]:
            if field.inlined:
                yield from self.fields(self._inlined_schema(package, field.inlined))
            else:
                yield field.name, field.flags

    def _versions_on_trial(self, package: str) -> list[str]:
        """Versions of the group that are not final, the latest first."""
        group, _, version = package.rpartition(".")
        folder = self._folder(group)
        if not folder or not folder.is_dir():
            return []
        trials = [p.name for p in folder.iterdir() if p.name.startswith(("v1alpha", "v1beta"))]
        return [f"{group}.{v}" for v in sorted(trials, reverse=True) if v != version]

    def _inlined_schema(self, package: str, go_type: str) -> str:
        qualifier, _, name = go_type.rpartition(".")
        meta = "io.k8s.apimachinery.pkg.apis.meta.v1"
        core = "io.k8s.api.core.v1"
        owner = {"": package, "metav1": meta, "v1": core if "meta" not in package else meta}
        return f"{owner[qualifier]}.{name}"

    def _structs(self, package: str) -> Structs:
        if package not in self._packages:
            texts = (path.read_text() for path in self._files(package))
            self._packages[package] = parse_structs("\n".join(texts))
        return self._packages[package]

    def _files(self, package: str) -> list[Path]:
        folder = self._folder(package)
        paths = folder.glob("*.go") if folder else ()
        return sorted(path for path in paths if not GENERATED.search(path.name))

    def _folder(self, package: str) -> Path | None:
        for prefix, module, folder in PACKAGES:
            if package.startswith(prefix):
                parts = package.removeprefix(prefix).split(".")
                return self._root.joinpath(f"{module}@{self._version}", folder, *parts)
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", type=Path, help="directory that holds the modules")
    parser.add_argument("--version", default="v0.36.3")
    arguments = parser.parse_args()

    schemas = json.loads(gzip.decompress((TABLES / "kubernetes.json.gz").read_bytes()))["schemas"]
    modules = Modules(arguments.modules, arguments.version)
    shapes = {
        name: {field: flags for field, flags in modules.fields(name) if field in properties}
        for name, schema in sorted(schemas.items())
        if (properties := schema.get("properties"))
    }
    report(schemas, shapes)
    packed = json.dumps(shapes, separators=(",", ":")).encode()
    (TABLES / "shapes.json.gz").write_bytes(gzip.compress(packed, mtime=0))


def report(
    schemas: dict[str, dict[str, dict[str, object]]], shapes: dict[str, dict[str, int]]
) -> None:
    """Say what the sources do not know; the reader of the shapes falls back to the schema there."""
    for name, shape in shapes.items():
        if missing := sorted(set(schemas[name]["properties"]) - set(shape)):
            print(f"{name}: not in the sources: {', '.join(missing)}")
    print(f"{len(shapes)} schemas, {sum(map(len, shapes.values()))} fields")


if __name__ == "__main__":
    main()
