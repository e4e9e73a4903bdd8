"""The specification of a definition: group, names, scope, versions, columns, conversion."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from plimsoll.api.names import dns_subdomain_errors
from plimsoll.api.registry import Document, builtin_collections
from plimsoll.apiserver.model.custom.definition.schemas import version_schema_errors
from plimsoll.apiserver.model.custom.definition.selectable import selectable_errors
from plimsoll.apiserver.model.field_errors import FieldError

COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
SCOPES = ("Cluster", "Namespaced")
STRATEGIES = ("None", "Webhook")
APPROVED = "api-approved.kubernetes.io"
LABEL_LENGTH = 63
LONGEST_WARNING = 256
MOST_VERSIONS = 100
"""More than any real definition has; a client pays for each of them with every request."""
NOT_A_LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
NO_WEBHOOKS = (
    "the embedded API server calls no conversion webhooks: serve one version, or several whose "
    'objects need no conversion with strategy "None"'
)

_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def label_errors(text: str) -> list[str]:
    """Why the text is no DNS-1035 label."""
    too_long = [f"must be no more than {LABEL_LENGTH} bytes"] if len(text) > LABEL_LENGTH else []
    return too_long + ([] if _LABEL.fullmatch(text) else [NOT_A_LABEL])


def _collection_errors(spec: Document) -> Iterator[FieldError]:
    """Objects of one group and plural are kept together, whatever their version: a definition
    would have a part in what the server keeps itself, and take it along when it goes."""
    plural = (spec.get("names") or {}).get("plural", "")
    if (spec.get("group", ""), plural) in builtin_collections():
        yield FieldError.invalid("spec.names.plural", plural, "is built in, in this group")


def spec_errors(spec: Document) -> Iterator[FieldError]:
    """Everything that is wrong with the specification of a new definition."""
    yield from _group_errors(spec.get("group", ""))
    yield from _collection_errors(spec)
    yield from _one_of(spec.get("scope", ""), SCOPES, "spec.scope")
    if spec.get("preserveUnknownFields"):
        said = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        yield FieldError.invalid("spec.preserveUnknownFields", True, said)
    yield from _versions_errors(spec.get("versions") or [])
    names = spec.get("names") or {}
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            yield FieldError.required(f"spec.names.{field}")
    yield from names_errors(names, "spec.names")
    yield from _content_errors(spec.get("versions") or [])
    yield from _conversion_errors(spec.get("conversion") or {})


def _group_errors(group: str) -> Iterator[FieldError]:
    if not group:
        yield FieldError.required("spec.group")
        return
    errors = dns_subdomain_errors(group)
    if errors:
        yield FieldError.invalid("spec.group", group, ",".join(errors))
    elif "." not in group:
        yield FieldError.invalid("spec.group", group, "should be a domain with at least one dot")


def _one_of(value: str, accepted: tuple[str, ...], path: str) -> Iterator[FieldError]:
    if not value:
        yield FieldError.required(path)
    elif value not in accepted:
        yield FieldError.not_supported(path, value, accepted)


def _versions_errors(versions: list[Document]) -> Iterator[FieldError]:
    if len(versions) > MOST_VERSIONS:
        yield FieldError.too_many("spec.versions", len(versions), MOST_VERSIONS)
        return
    names = [version.get("name", "") for version in versions]
    for index, name in enumerate(names):
        errors = label_errors(name)
        if errors:
            yield FieldError.invalid(f"spec.versions[{index}].name", name, ",".join(errors))
            if not index:
                # An older form of definitions has its first version there.
                yield FieldError.invalid("spec.version", name, ",".join(errors))
    if len(set(names)) < len(names):
        yield FieldError.invalid("spec.versions", names, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        said = "must have exactly one version marked as storage version"
        yield FieldError.invalid("spec.versions", names, said)
    for index, version in enumerate(versions):
        yield from _deprecation_errors(version, f"spec.versions[{index}].deprecationWarning")


def _deprecation_errors(version: Document, path: str) -> Iterator[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        yield FieldError.invalid(path, warning, "can only be set for deprecated versions")
    if len(warning) > LONGEST_WARNING:
        yield FieldError.invalid(path, warning, f"must be <= {LONGEST_WARNING} characters long")
    if not warning:
        yield FieldError.invalid(path, warning, "must not be an empty string")
    elif not warning.isprintable():
        said = "must only contain printable UTF-8 characters; non-printable character found"
        yield FieldError.invalid(path, warning, said)


def names_errors(names: Document, path: str) -> Iterator[FieldError]:
    for field in ("plural", "singular"):
        yield from _label_errors(names.get(field, ""), f"{path}.{field}")
    for field in ("kind", "listKind"):
        given = names.get(field, "")
        errors = label_errors(given.lower()) if given else []
        if errors:
            said = f"may have mixed case, but should otherwise match: {','.join(errors)}"
            yield FieldError.invalid(f"{path}.{field}", given, said)
    for field in ("shortNames", "categories"):
        for index, given in enumerate(names.get(field) or ()):
            errors = label_errors(given)
            if errors:
                yield FieldError.invalid(f"{path}.{field}[{index}]", given, ",".join(errors))
    if names.get("kind") and names["kind"] == names.get("listKind"):
        said = "kind and listKind may not be the same"
        yield FieldError.invalid(f"{path}.listKind", names["listKind"], said)


def _label_errors(given: str, path: str) -> Iterator[FieldError]:
    errors = label_errors(given) if given else []
    if errors:
        yield FieldError.invalid(path, given, ",".join(errors))


def _content_errors(versions: list[Document]) -> Iterator[FieldError]:
    """Schemas, columns and subresources; told once where all versions have the same."""
    for path, version in _places(versions, "schema", "spec.validation"):
        yield from version_schema_errors(version, path)
    for path, version in _places(versions, "subresources", "spec.subresources"):
        yield from _scale_errors((version.get("subresources") or {}).get("scale"), path)
    for path, version in _places(
        versions, "additionalPrinterColumns", "spec.additionalPrinterColumns"
    ):
        for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
            yield from _column_errors(column, f"{path}[{index}]")
    for path, version in _places(versions, "selectableFields", "spec.selectableFields"):
        yield from selectable_errors(version, path)


def _places(versions: list[Document], field: str, shared: str) -> Iterator[tuple[str, Document]]:
    """Where complaints about a field of the versions are, and the versions that have it."""
    given = [version.get(field) for version in versions]
    if given and given[0] is not None and all(each == given[0] for each in given):
        yield shared, versions[0]
        return
    for index, version in enumerate(versions):
        yield f"spec.versions[{index}].{field}", version


def _scale_errors(scale: Document | None, path: str) -> Iterator[FieldError]:
    if scale is None:
        return
    for field, roots in (("specReplicasPath", (".spec.",)), ("statusReplicasPath", (".status.",))):
        given = scale.get(field, "")
        if not given:
            yield FieldError.required(f"{path}.scale.{field}")
        elif not given.startswith(roots):
            said = f"should be a json path under {roots[0].rstrip('.')}"
            yield FieldError.invalid(f"{path}.scale.{field}", given, said)
    selector = scale.get("labelSelectorPath", "")
    if selector and not selector.startswith((".spec.", ".status.")):
        said = "should be a json path under either .spec or .status"
        yield FieldError.invalid(f"{path}.scale.labelSelectorPath", selector, said)


def _column_errors(column: Document, path: str) -> Iterator[FieldError]:
    kind, listed = column.get("type", ""), f"must be one of {','.join(COLUMN_TYPES)}"
    if not column.get("name"):
        yield FieldError.required(f"{path}.name")
    if not kind:
        yield FieldError.required(f"{path}.type", listed)
    elif kind not in COLUMN_TYPES:
        yield FieldError.invalid(f"{path}.type", kind, listed)
    named = column.get("format", "")
    if named and named not in COLUMN_FORMATS:
        said = f"must be one of {','.join(COLUMN_FORMATS)}"
        yield FieldError.invalid(f"{path}.format", named, said)
    json_path = column.get("jsonPath", "")
    if not json_path:
        yield FieldError.required(f"{path}.JSONPath")
    elif not json_path.startswith("."):
        said = "must be a simple json path starting with ."
        yield FieldError.invalid(f"{path}.JSONPath", json_path, said)


def _conversion_errors(conversion: Document) -> Iterator[FieldError]:
    strategy = conversion.get("strategy", "")
    yield from _one_of(strategy, STRATEGIES, "spec.conversion.strategy")
    if strategy == "Webhook":
        yield FieldError.invalid("spec.conversion.strategy", strategy, NO_WEBHOOKS)
    elif conversion.get("webhook"):
        said = "should not be set when strategy is not set to Webhook"
        yield FieldError.forbidden("spec.conversion.webhookClientConfig", said)


def approval_errors(definition: Document) -> Iterator[FieldError]:
    """Groups of Kubernetes itself want to know who allowed the definition."""
    group = definition["spec"].get("group", "")
    if not is_protected(group):
        return
    given = (definition["metadata"].get("annotations") or {}).get(APPROVED, "")
    path = f"metadata.annotations[{APPROVED}]"
    if not given:
        said = f'protected groups must have approval annotation "{APPROVED}"'
        yield FieldError.required(path, f"{said}, see {APPROVAL_PAGE}")
    elif not given.startswith("unapproved") and not is_url(given):
        said = (
            f'protected groups must have approval annotation "{APPROVED}" with either a URL or a '
            f'reason starting with "unapproved", see {APPROVAL_PAGE}'
        )
        yield FieldError.invalid(path, given, said)


APPROVAL_PAGE = "https://github.com/kubernetes/enhancements/pull/1111"


def is_protected(group: str) -> bool:
    return group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))


def is_url(text: Any) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc)
