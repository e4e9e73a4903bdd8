"""What a claim's volume is filled from: `dataSource`, and `dataSourceRef` which replaced it.

The two are kept equal, so that clients that know only one of them see the same claim.
"""

from collections.abc import Iterator

from plimsoll.api.names import dns_label_errors, dns_subdomain_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError

CLAIM = ("", "PersistentVolumeClaim")
SNAPSHOT = ("snapshot.storage.k8s.io", "VolumeSnapshot")


def prepare_data_sources(spec: Document, before: Document) -> None:
    """`before` is the stored spec, empty for a new claim."""
    reference = spec.get("dataSourceRef") or {}
    if reference.get("namespace") and "dataSourceRef" not in before:
        # Sources in other namespaces are not enabled.
        del spec["dataSourceRef"]
    if not has_data_source(before) and "dataSourceRef" not in spec:
        _drop_unknown_source(spec)
    align_data_sources(spec)


def has_data_source(spec: Document) -> bool:
    return "dataSource" in spec or "dataSourceRef" in spec


def _drop_unknown_source(spec: Document) -> None:
    """The old field takes claims and snapshots; anything else was always ignored."""
    source = spec.get("dataSource") or {}
    if (source.get("apiGroup") or "", source.get("kind")) not in (CLAIM, SNAPSHOT):
        spec.pop("dataSource", None)


def align_data_sources(spec: Document) -> None:
    """Fill whichever of the two fields is missing from the other."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = _without_namespace(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = _without_namespace(reference)


def _without_namespace(reference: Document) -> Document:
    # An absent group is shown as null.
    group = {"apiGroup": reference.get("apiGroup")}
    return group | {"kind": reference.get("kind", ""), "name": reference.get("name", "")}


def data_source_errors(spec: Document, path: str, *, any_group: bool) -> Iterator[FieldError]:
    """`any_group`: tolerate a group that is no domain name, as the stored claim may have one."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        yield from _reference_errors(source, f"{path}.dataSource", any_group=any_group)
    if reference is not None:
        yield from _reference_errors(reference, f"{path}.dataSourceRef", any_group=any_group)
        namespace = reference.get("namespace") or ""
        for error in dns_label_errors(namespace) if namespace else ():
            yield FieldError.invalid(f"{path}.dataSourceRef.namespace", namespace, error)
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        yield FieldError.invalid(
            path,
            f"{path}.dataSource",
            "may not be specified when dataSourceRef.namespace is specified",
        )
    elif _without_namespace(source) != _without_namespace(reference):
        yield FieldError.invalid(path, f"{path}.dataSource", "must match dataSourceRef")


def _reference_errors(reference: Document, path: str, *, any_group: bool) -> Iterator[FieldError]:
    kind, group = reference.get("kind", ""), reference.get("apiGroup") or ""
    if not reference.get("name"):
        yield FieldError.required(f"{path}.name")
    if not kind:
        yield FieldError.required(f"{path}.kind")
    if not group and (group, kind) != CLAIM:
        yield FieldError.invalid(
            path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        )
    if group and not any_group:
        for error in dns_subdomain_errors(group):
            yield FieldError.invalid(f"{path}.apiGroup", group, error)
