"""Security contexts of pods and containers; what concerns Windows only is in `windows`."""

import re
from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.security.windows import windows_option_errors
from plimsoll.apiserver.model.kinds.pods.values import (
    descending_path,
    one_of,
    user_or_group,
)

PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
PROFILE_LIMIT = 4095
SYSCTL_LIMIT = 253
SYSCTL_PART = r"[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
SYSCTL = re.compile(rf"({SYSCTL_PART}[./])*{SYSCTL_PART}")
IPC_SYSCTLS = frozenset(
    {
        "kernel.sem",
        "kernel.shmall",
        "kernel.shmmax",
        "kernel.shmmni",
        "kernel.shm_rmid_forced",
        "kernel.msgmax",
        "kernel.msgmnb",
        "kernel.msgmni",
    }
)


def pod_security_errors(spec: Document, path: str) -> Iterator[FieldError]:
    """`path` is that of the security context."""
    context = spec.get("securityContext") or {}
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from user_or_group(context.get(name), f"{path}.{name}")
    for index, group in enumerate(context.get("supplementalGroups") or []):
        yield from user_or_group(group, f"{path}.supplementalGroups[{index}]")
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        yield FieldError.invalid(
            f"{path}.shareProcessNamespace",
            True,
            "ShareProcessNamespace and HostPID cannot both be enabled",
        )
    yield from _sysctl_errors(spec, context.get("sysctls") or [], f"{path}.sysctls")
    choices = {
        "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
        "supplementalGroupsPolicy": ("Merge", "Strict"),
        "seLinuxChangePolicy": ("MountOption", "Recursive"),
    }
    for name, supported in choices.items():
        if name in context:
            yield from one_of(context[name], f"{path}.{name}", supported)
    yield from _profile_errors(context, path)


def container_security_errors(
    context: Document, path: str, *, uses_host_users: bool
) -> Iterator[FieldError]:
    for name in ("runAsUser", "runAsGroup"):
        yield from user_or_group(context.get(name), f"{path}.{name}")
    if "procMount" in context:
        yield from one_of(context["procMount"], f"{path}.procMount", ("Default", "Unmasked"))
    if context.get("procMount") == "Unmasked" and uses_host_users:
        yield FieldError.invalid(
            f"{path}.procMount", "Unmasked", "`hostUsers` must be false to use `Unmasked`"
        )
    if context.get("allowPrivilegeEscalation") is False:
        yield from _escalation_errors(context, path)
    yield from _profile_errors(context, path)


def _escalation_errors(context: Document, path: str) -> Iterator[FieldError]:
    denied = "cannot set `allowPrivilegeEscalation` to false and"
    if context.get("privileged"):
        yield FieldError.invalid(path, context, f"{denied} `privileged` to true")
    if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or []):
        yield FieldError.invalid(path, context, f"{denied} `capabilities.Add` CAP_SYS_ADMIN")


def _profile_errors(context: Document, path: str) -> Iterator[FieldError]:
    if "seccompProfile" in context:
        yield from _seccomp_errors(context["seccompProfile"], f"{path}.seccompProfile")
    if "windowsOptions" in context:
        yield from windows_option_errors(context["windowsOptions"], f"{path}.windowsOptions")
    if "appArmorProfile" in context:
        yield from app_armor_errors(context["appArmorProfile"], f"{path}.appArmorProfile")


def _profile_type_errors(profile: Document, path: str) -> Iterator[FieldError]:
    if not profile.get("type"):
        yield FieldError.required(f"{path}.type", "type is required when a profile is set")
    else:
        yield from one_of(profile["type"], f"{path}.type", PROFILE_TYPES)


def _seccomp_errors(profile: Document, path: str) -> Iterator[FieldError]:
    yield from _profile_type_errors(profile, path)
    where = f"{path}.localhostProfile"
    given = profile.get("localhostProfile")
    if profile.get("type") != "Localhost":
        if given is not None:
            yield FieldError.invalid(where, profile, "can only be set for type Localhost")
    elif given is None:
        yield FieldError.required(where, "must be set when seccomp type is Localhost")
    else:
        yield from descending_path(given, where)


def app_armor_errors(profile: Document, path: str) -> Iterator[FieldError]:
    yield from _profile_type_errors(profile, path)
    where = f"{path}.localhostProfile"
    given = profile.get("localhostProfile")
    if profile.get("type") in ("RuntimeDefault", "Unconfined") and given is not None:
        yield FieldError.invalid(where, given, "can only be set when AppArmor type is Localhost")
    if profile.get("type") != "Localhost":
        return
    if not given:
        yield FieldError.required(where, "must be set when AppArmor type is Localhost")
    elif given != given.strip():
        yield FieldError.invalid(where, given, "must not be padded with whitespace")
    if given and len(given) > PROFILE_LIMIT:
        yield FieldError.too_long(where, PROFILE_LIMIT)


def _sysctl_errors(spec: Document, sysctls: list[Document], path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        where, name = f"{path}[{index}].name", sysctl.get("name", "")
        if not name:
            yield FieldError.required(where)
        elif len(name) > SYSCTL_LIMIT or not SYSCTL.fullmatch(name):
            yield FieldError.invalid(where, name, f"must match {SYSCTL.pattern}")
        elif name in seen:
            yield FieldError.duplicate(where, name)
        seen.add(name)
        shared = _shared_namespace(name.replace("/", "."))
        if shared and spec.get(shared):
            yield FieldError.invalid(where, name, f"may not be specified when '{shared}' is true")


def _shared_namespace(sysctl: str) -> str:
    """The field that makes the pod share the namespace that the setting belongs to."""
    if sysctl.startswith("net."):
        return "hostNetwork"
    return "hostIPC" if sysctl in IPC_SYSCTLS or sysctl.startswith("fs.mqueue.") else ""
