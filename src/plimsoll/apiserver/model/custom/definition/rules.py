"""CustomResourceDefinition: named after what it defines, of schemas that say what everything is."""

from collections.abc import Iterator
from datetime import datetime

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.definition import conditions
from plimsoll.apiserver.model.custom.definition.spec import (
    approval_errors,
    names_errors,
    spec_errors,
)
from plimsoll.apiserver.model.custom.definition.unknown_formats import unknown_formats
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.object_meta import IMMUTABLE
from plimsoll.apiserver.model.kinds.rules import KindRules


def default(definition: Document) -> None:
    spec = definition.setdefault("spec", {})
    names = spec.setdefault("names", {})
    kind = names.get("kind", "")
    if kind:
        names.setdefault("singular", kind.lower())
        names.setdefault("listKind", f"{kind}List")
    spec.setdefault("conversion", {"strategy": "None"})


def prepare_create(definition: Document, _now: datetime) -> None:
    definition["status"] = {"acceptedNames": {"kind": "", "plural": ""}, "conditions": None}
    _store_version(definition)


def prepare_update(new: Document, old: Document, _now: datetime) -> None:
    new["status"] = dict(old.get("status") or {})
    _store_version(new)


def _store_version(definition: Document) -> None:
    """Objects may be stored in the storage version from now on."""
    versions = definition["spec"].get("versions") or ()
    named = [version.get("name", "") for version in versions if version.get("storage")][:1]
    stored = list(definition["status"].get("storedVersions") or ())
    definition["status"]["storedVersions"] = stored + [v for v in named if v not in stored]


def validate(definition: Document) -> Iterator[FieldError]:
    spec = definition["spec"]
    name = f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}"
    if definition["metadata"].get("name") != name:
        said = 'must be spec.names.plural+"."+spec.group'
        yield FieldError.invalid("metadata.name", definition["metadata"].get("name"), said)
    yield from spec_errors(spec)
    yield from _stored_version_errors(definition)
    yield from approval_errors(definition)


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    spec, before = new["spec"], old["spec"]
    if spec != before:
        yield from spec_errors(spec)
    if conditions.is_true(old, conditions.ESTABLISHED):
        yield from _fixed(spec, before, "scope")
        yield from _fixed(spec, before, "names", "kind")
    yield from _fixed(spec, before, "group")
    yield from _fixed(spec, before, "names", "plural")
    yield from _stored_version_errors(new)
    if conditions.find_condition(old, conditions.CONFORMANT) is not None:
        yield from approval_errors(new)


def validate_status(new: Document, _old: Document) -> Iterator[FieldError]:
    names = (new.get("status") or {}).get("acceptedNames") or {}
    yield from names_errors(names, "status.acceptedNames")
    yield from _stored_version_errors(new)


def _fixed(new: Document, old: Document, *fields: str) -> Iterator[FieldError]:
    after, before = new, old
    for field in fields[:-1]:
        after, before = after.get(field) or {}, before.get(field) or {}
    if after.get(fields[-1]) != before.get(fields[-1]):
        yield FieldError.invalid(f"spec.{'.'.join(fields)}", after.get(fields[-1]), IMMUTABLE)


def _stored_version_errors(definition: Document) -> Iterator[FieldError]:
    path = "status.storedVersions"
    stored = (definition.get("status") or {}).get("storedVersions") or []
    if not stored:
        yield FieldError.invalid(path, stored, "must have at least one stored version")
        return
    versions = definition["spec"].get("versions") or ()
    for version in versions:
        if version.get("storage") and version.get("name") not in stored:
            said = f"must have the storage version {version.get('name')}"
            yield FieldError.invalid(path, stored, said)
    known = {version.get("name") for version in versions}
    for index, name in enumerate(stored):
        if name not in known:
            yield FieldError.invalid(f"{path}[{index}]", name, _MISSING.format(name))


_MISSING = (
    "missing from spec.versions; {0} was previously a storage version, and must remain in "
    "spec.versions until a storage migration ensures no data remains persisted in {0} and removes "
    "{0} from status.storedVersions"
)


def warnings(new: Document, old: Document | None) -> list[str]:
    """Formats that mean nothing here; told once."""
    known = set(unknown_formats(old)) if old is not None else set()
    return [f'unrecognized format "{name}"' for name in unknown_formats(new) if name not in known]


RULES = KindRules(
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=warnings,
    has_generation=True,
    unconditional_update=False,
    plain_finalizers=True,
)
