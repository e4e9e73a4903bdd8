"""The volumes of a pod: their names, and that each has exactly one source."""

from collections.abc import Iterator

from plimsoll.api.names import dns_subdomain_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.object_meta import annotation_errors, label_errors
from plimsoll.apiserver.model.kinds.pods.values import dns_label
from plimsoll.apiserver.model.kinds.pods.volumes.sources import CHECKED_AS, SOURCES, TOO_MANY_AS
from plimsoll.apiserver.model.kinds.storage.claim_spec import claim_spec_errors

TOO_MANY = "may not specify more than 1 volume type"
PORTAL_LIMIT = 64


def volume_list_errors(
    volumes: list[Document], path: str, *, pod: Document | None
) -> tuple[dict[str, Document], list[FieldError]]:
    """The sound volumes by name, and what is wrong with the others.

    `pod` is the metadata of the pod, or None for a template: claims of ephemeral volumes are
    named after the pod.
    """
    sound: dict[str, Document] = {}
    errors: list[FieldError] = []
    owner = (pod or {}).get("name", "")
    made = {f"{owner}-{v.get('name', '')}" for v in volumes if owner and "ephemeral" in v}
    for index, volume in enumerate(volumes):
        where = f"{path}[{index}]"
        name = volume.get("name", "")
        found = [
            *_source_errors(volume, where, pod=pod),
            *(dns_label(name, f"{where}.name") if name else [FieldError.required(f"{where}.name")]),
        ]
        if name in sound:
            found.append(FieldError.duplicate(f"{where}.name", name))
        if not found:
            sound[name] = volume
        errors += found
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
        if claim in made:
            errors.append(
                FieldError.invalid(
                    f"{where}.persistentVolumeClaim.claimName",
                    claim,
                    "must not reference a PVC that gets created for an ephemeral volume",
                )
            )
    return sound, errors


def _source_errors(volume: Document, path: str, *, pod: Document | None) -> Iterator[FieldError]:
    given = [name for name in SOURCES if name in volume]
    if not given:
        yield FieldError.required(path, "must specify a volume type")
        return
    first, *others = given
    yield from SOURCES[first](volume[first], f"{path}.{CHECKED_AS.get(first, first)}")
    for other in others:
        yield FieldError.forbidden(f"{path}.{TOO_MANY_AS.get(other, other)}", TOO_MANY)
    yield from _portal_errors(volume, path)
    if first == "ephemeral":
        yield from _ephemeral_errors(volume, path, pod=pod)
    if first == "image" and pod is not None and not volume["image"].get("reference"):
        yield FieldError.required(f"{path}.image.reference")


def _portal_errors(volume: Document, path: str) -> Iterator[FieldError]:
    source = volume.get("iscsi") or {}
    name = volume.get("name", "")
    length = len(f"{name}:{source.get('targetPortal', '')}")
    if "initiatorName" in source and length > PORTAL_LIMIT:
        yield FieldError.invalid(
            f"{path}.name",
            name,
            "together with iscsi.targetPortal under 64 characters if iscsi.initiatorName is given",
        )


def _ephemeral_errors(volume: Document, path: str, *, pod: Document | None) -> Iterator[FieldError]:
    template = volume["ephemeral"].get("volumeClaimTemplate")
    where = f"{path}.ephemeral.volumeClaimTemplate"
    if template is None:
        yield FieldError.required(where)
    else:
        yield from _template_meta_errors(template.get("metadata") or {}, f"{where}.metadata")
        yield from claim_spec_errors(template.get("spec") or {}, f"{where}.spec")
    owner, name = (pod or {}).get("name", ""), volume.get("name", "")
    if owner and name:
        for error in dns_subdomain_errors(f"{owner}-{name}"):
            yield FieldError.invalid(f"{path}.name", name, f'PVC name "{owner}-{name}": {error}')


def _template_meta_errors(meta: Document, path: str) -> Iterator[FieldError]:
    yield from annotation_errors(meta.get("annotations") or {}, f"{path}.annotations")
    yield from label_errors(meta.get("labels") or {}, f"{path}.labels")
    for field, value in meta.items():
        if field not in ("annotations", "labels") and value:
            yield FieldError.forbidden(f"{path}.{field}", "cannot be set")
