"""AppArmor profiles, which older clients give as annotations and newer ones as fields."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.pods.annotations import APP_ARMOR, LOCALHOST
from plimsoll.apiserver.model.kinds.pods.defaults import all_containers

PLAIN_PROFILES = {"runtime/default": "RuntimeDefault", "unconfined": "Unconfined"}


def app_armor_profile(annotation: str) -> Document | None:
    """The field that says what the annotation says; None when it says nothing understandable."""
    if annotation in PLAIN_PROFILES:
        return {"type": PLAIN_PROFILES[annotation]}
    named = annotation.removeprefix(LOCALHOST)
    if annotation.startswith(LOCALHOST) and named and named == named.strip():
        return {"type": "Localhost", "localhostProfile": named}
    return None


def copy_app_armor_to_fields(pod: Document) -> None:
    """Write profiles from annotations into the fields, where these say nothing else."""
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    spec = pod.get("spec") or {}
    if (spec.get("os") or {}).get("name") == "windows":
        return
    whole = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container in all_containers(spec):
        own = container.get("securityContext") or {}
        annotation = annotations.get(APP_ARMOR + container.get("name", ""))
        if annotation is None or "appArmorProfile" in own:
            continue
        profile = app_armor_profile(annotation)
        if profile is not None and profile != whole:
            container["securityContext"] = own | {"appArmorProfile": profile}


def app_armor_warnings(meta: Document, spec: Document, path: str, *, is_pod: bool) -> Iterator[str]:
    """Annotations that the pod's fields do not make superfluous.

    Those of a pod were copied to its fields already: there, agreement with the annotation says
    that the field came from it.
    """
    annotations = meta.get("annotations") or {}
    whole = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container in all_containers(spec):
        key = APP_ARMOR + container.get("name", "")
        if key not in annotations:
            continue
        own = (container.get("securityContext") or {}).get("appArmorProfile")
        profile = app_armor_profile(annotations[key])
        if profile == whole and whole is not None:
            continue
        if own is None or (is_pod and own == profile):
            yield (
                f"{path}metadata.annotations[{key}]: deprecated since v1.30; "
                'use the "appArmorProfile" field instead'
            )
