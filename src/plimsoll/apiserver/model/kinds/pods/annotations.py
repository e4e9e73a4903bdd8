"""Annotations of pods that mean something to the API: older ways to say what fields say today."""

import json
import re
from collections.abc import Iterator, Mapping

from plimsoll.api.registry import Document
from plimsoll.api.selectors.requirement import find_integer
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.scheduling.tolerations import toleration_errors
from plimsoll.apiserver.model.kinds.pods.values import MAX_INT32, descending_path

MIRROR = "kubernetes.io/config.mirror"
TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"

LOCALHOST = "localhost/"
RUNTIME_DEFAULT = "runtime/default"
UNCONFINED = "unconfined"
SECCOMP_PROFILES = (RUNTIME_DEFAULT, "docker/default", UNCONFINED)
APP_ARMOR_PROFILES = ("", RUNTIME_DEFAULT, UNCONFINED)
WHOLE_NUMBER = re.compile(r"0|-[0-9]+|[1-9][0-9]*")

Containers = list[tuple[Document, str]]


def annotation_content_errors(
    annotations: Mapping[str, str], spec: Document, path: str, containers: Containers
) -> Iterator[FieldError]:
    """`path` is that of the annotations; `containers` are all of the pod, with their paths."""
    if MIRROR in annotations and not spec.get("nodeName"):
        yield FieldError.invalid(
            f"{path}[{MIRROR}]",
            annotations[MIRROR],
            "must set spec.nodeName if mirror pod annotation is set",
        )
    if annotations.get(TOLERATIONS):
        yield from _toleration_text_errors(annotations[TOLERATIONS], path)
    if not _is_deletion_cost(annotations.get(DELETION_COST, "0")):
        yield FieldError.invalid(
            f"{path}[{DELETION_COST}]", annotations[DELETION_COST], "must be a 32bit integer"
        )
    names = {container.get("name", "") for container, _ in containers}
    for key, value in annotations.items():
        if key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            yield from _seccomp_errors(value, f"{path}.{key}")
        elif key.startswith(APP_ARMOR):
            yield from _app_armor_errors(key, value, path, names)


def _toleration_text_errors(text: str, path: str) -> Iterator[FieldError]:
    try:
        tolerations = json.loads(text)
        yield from toleration_errors(tolerations, f"{path}.{TOLERATIONS}")
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        yield FieldError.invalid(path, TOLERATIONS, str(error))


def _is_deletion_cost(text: str) -> bool:
    number = find_integer(text) if WHOLE_NUMBER.fullmatch(text) else None
    return number is not None and -MAX_INT32 - 1 <= number <= MAX_INT32


def _seccomp_errors(profile: str, path: str) -> Iterator[FieldError]:
    if profile.startswith(LOCALHOST):
        yield from descending_path(profile.removeprefix(LOCALHOST), path)
    elif profile not in SECCOMP_PROFILES:
        yield FieldError.invalid(path, profile, "must be a valid seccomp profile")


def _app_armor_errors(key: str, profile: str, path: str, names: set[str]) -> Iterator[FieldError]:
    container = key.removeprefix(APP_ARMOR)
    if container not in names:
        yield FieldError.invalid(f"{path}[{key}]", container, "container not found")
    if profile not in APP_ARMOR_PROFILES and not profile.startswith(LOCALHOST):
        yield FieldError.invalid(
            f"{path}[{key}]", profile, f'invalid AppArmor profile name: "{profile}"'
        )


def annotation_change_errors(
    new: Mapping[str, str], old: Mapping[str, str], path: str
) -> Iterator[FieldError]:
    for key in {**old, **new}:
        if new.get(key) == old.get(key):
            continue
        if key.startswith(APP_ARMOR):
            yield FieldError.forbidden(f"{path}[{key}]", "may not change AppArmor annotations")
        if key == MIRROR:
            yield FieldError.forbidden(f"{path}[{key}]", "may not change mirror pod annotation")


def profile_match_errors(
    annotations: Mapping[str, str], spec: Document, path: str, containers: Containers
) -> Iterator[FieldError]:
    """Where an annotation and a field speak of the same profile, they must agree."""
    context = spec.get("securityContext") or {}
    seccomp = context.get("seccompProfile")
    where = f"{path}.securityContext.seccompProfile"
    yield from _match_errors(annotations.get(SECCOMP_POD), seccomp, where, docker=True)
    is_windows = (spec.get("os") or {}).get("name") == "windows"
    for container, at in containers:
        own = container.get("securityContext") or {}
        name = container.get("name", "")
        yield from _match_errors(
            annotations.get(SECCOMP_CONTAINER + name),
            own.get("seccompProfile"),
            f"{at}.securityContext.seccompProfile",
            docker=True,
        )
        if not is_windows:
            profile = own.get("appArmorProfile") or context.get("appArmorProfile")
            yield from _match_errors(
                annotations.get(APP_ARMOR + name),
                profile,
                f"{at}.securityContext.appArmorProfile",
            )


def _match_errors(
    annotation: str | None, profile: Document | None, path: str, *, docker: bool = False
) -> Iterator[FieldError]:
    """`docker`: the old name of the runtime's default is understood."""
    if annotation is None or profile is None:
        return
    default = (RUNTIME_DEFAULT, "docker/default") if docker else (RUNTIME_DEFAULT,)
    match profile.get("type"):
        case "Unconfined":
            agrees = annotation == UNCONFINED
        case "RuntimeDefault":
            agrees = annotation in default
        case "Localhost":
            agrees = annotation.startswith(LOCALHOST)
        case _:
            return
    if not agrees:
        yield FieldError.forbidden(f"{path}.type", "type in annotation and field must match")
    elif profile["type"] == "Localhost":
        named = annotation.removeprefix(LOCALHOST)
        if profile.get("localhostProfile") != named:
            yield FieldError.forbidden(
                f"{path}.localhostProfile", "profile in annotation and field must match"
            )
