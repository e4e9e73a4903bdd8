"""The roles and bindings that every cluster begins with, and how they are kept; pure.

Read from `tables/bootstrap_roles.json`: what kube-apiserver 1.36 creates with its default feature
gates. When a server starts, what is missing is created, and what lacks rules or subjects gets them;
nothing is taken away. An object whose autoupdate annotation says "false" is left alone.
"""

from dataclasses import dataclass
from functools import cache
from importlib import resources

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.rbac.index import GROUP
from plimsoll.apiserver.access.rbac.rules import HeldRules, parse_rules, written_rule

TABLES = "plimsoll.apiserver.model.tables"
AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"
BOOTSTRAPPING = {"kubernetes.io/bootstrapping": "rbac-defaults"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapRoles:
    cluster_roles: tuple[Document, ...]
    cluster_role_bindings: tuple[Document, ...]
    roles: tuple[Document, ...]
    role_bindings: tuple[Document, ...]

    def by_plural(self) -> dict[str, tuple[Document, ...]]:
        """In the order in which they are created."""
        return {
            "clusterroles": self.cluster_roles,
            "clusterrolebindings": self.cluster_role_bindings,
            "roles": self.roles,
            "rolebindings": self.role_bindings,
        }


@cache
def bootstrap_roles() -> BootstrapRoles:
    """The documents must not be changed."""
    packed = resources.files(TABLES).joinpath("bootstrap_roles.json").read_bytes()
    table: dict[str, list[Document]] = msgspec.json.decode(packed)

    def read(key: str) -> tuple[Document, ...]:
        return tuple(_document(entry) for entry in table[key])

    return BootstrapRoles(
        cluster_roles=read("clusterRoles"),
        cluster_role_bindings=read("clusterRoleBindings"),
        roles=read("roles"),
        role_bindings=read("roleBindings"),
    )


def _document(entry: Document) -> Document:
    rest = {field: entry[field] for field in entry if field not in ("name", "namespace", "labels")}
    meta: Document = {
        "name": entry["name"],
        "labels": BOOTSTRAPPING | entry.get("labels", {}),
        "annotations": {AUTOUPDATE: "true"},
    }
    if "namespace" in entry:
        meta["namespace"] = entry["namespace"]
    return {"metadata": meta, **rest}


def reconciled(expected: Document, held: Document | None) -> Document | None:
    """The document that must be stored, None if the held one will do.

    A binding to another role is replaced: `is_rebound` says so.
    """
    if held is None:
        return expected
    if (held["metadata"].get("annotations") or {}).get(AUTOUPDATE) == "false":
        return None
    merged = held | {"metadata": _merged_meta(expected["metadata"], held["metadata"])}
    if "roleRef" in expected:
        merged["subjects"] = _merged_subjects(expected, held)
        if not merged["subjects"]:
            merged.pop("subjects")
    else:
        missing = HeldRules(parse_rules(held)).missing(parse_rules(expected))
        if missing:
            merged["rules"] = [*(held.get("rules") or ()), *map(written_rule, missing)]
        if expected.get("aggregationRule") != held.get("aggregationRule"):
            merged["aggregationRule"] = _merged_selectors(expected, held)
            if merged["aggregationRule"] is None:
                merged.pop("aggregationRule")
    return merged if merged != held else None


def is_rebound(expected: Document, held: Document) -> bool:
    """The binding grants another role, which cannot be changed: it has to be made anew."""
    wanted, found = expected.get("roleRef"), held.get("roleRef")
    protected = (held["metadata"].get("annotations") or {}).get(AUTOUPDATE) == "false"
    return wanted is not None and wanted != found and not protected


def _merged_meta(expected: Document, held: Document) -> Document:
    return held | {
        field: expected[field] | (held.get(field) or {}) for field in ("labels", "annotations")
    }


def _merged_subjects(expected: Document, held: Document) -> list[Document]:
    found = list(held.get("subjects") or ())
    return found + [each for each in expected.get("subjects") or () if each not in found]


def _merged_selectors(expected: Document, held: Document) -> Document | None:
    """A role that should not be aggregated is not; others keep the selectors that they have."""
    wanted = expected.get("aggregationRule")
    if wanted is None:
        return None
    found = list((held.get("aggregationRule") or {}).get("clusterRoleSelectors") or ())
    more = [each for each in wanted["clusterRoleSelectors"] if each not in found]
    return {"clusterRoleSelectors": found + more}


def qualified(plural: str) -> tuple[str, str, str]:
    """Where a resource of roles is served."""
    return (GROUP, "v1", plural)
