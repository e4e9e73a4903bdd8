"""What a pod says about its operating system, and the options that only Windows has."""

import re
from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.values import dns_subdomain

CREDENTIAL_SPEC_LIMIT_BYTES = 64 * 1024
DOMAIN_LIMIT = 256
USER_LIMIT = 104
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f]")
NETBIOS_DOMAIN = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
DNS_DOMAIN_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
DNS_DOMAIN = re.compile(rf"{DNS_DOMAIN_LABEL}(?:\.{DNS_DOMAIN_LABEL})*")
NOT_IN_USER_NAME = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
LINUX_ONLY_OF_POD = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
LINUX_ONLY_OF_SPEC = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
LINUX_ONLY_OF_CONTAINER = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)
NOT_ON_WINDOWS = "cannot be set for a windows pod"


def operating_system_errors(
    spec: Document, path: str, containers: list[tuple[Document, str]]
) -> Iterator[FieldError]:
    """A pod that names its system may not use what only the other one has."""
    if "os" not in spec:
        return
    contexts = [(c.get("securityContext") or {}, f"{p}.securityContext") for c, p in containers]
    contexts.insert(0, (spec.get("securityContext") or {}, f"{path}.securityContext"))
    match spec["os"].get("name", ""):
        case "":
            yield FieldError.required(f"{path}.os.name")
        case "linux":
            for context, where in contexts:
                if "windowsOptions" in context:
                    yield FieldError.forbidden(
                        f"{where}.windowsOptions", "windows options cannot be set for a linux pod"
                    )
        case "windows":
            yield from _windows_errors(spec, path, contexts)
        case other:
            yield FieldError.not_supported(f"{path}.os", other, ("linux", "windows"))


def _windows_errors(
    spec: Document, path: str, contexts: list[tuple[Document, str]]
) -> Iterator[FieldError]:
    for name in LINUX_ONLY_OF_SPEC:
        is_set = spec.get(name) if name in ("hostPID", "hostIPC") else name in spec
        if is_set:
            yield FieldError.forbidden(f"{path}.{name}", NOT_ON_WINDOWS)
    pod, *containers = contexts
    for name in LINUX_ONLY_OF_POD:
        if name in pod[0]:
            yield FieldError.forbidden(f"{pod[1]}.{name}", NOT_ON_WINDOWS)
    for context, where in containers:
        for name in LINUX_ONLY_OF_CONTAINER:
            if name in context:
                yield FieldError.forbidden(f"{where}.{name}", NOT_ON_WINDOWS)


def windows_option_errors(options: Document, path: str) -> Iterator[FieldError]:
    if "gmsaCredentialSpecName" in options:
        where = f"{path}.gmsaCredentialSpecName"
        yield from dns_subdomain(options["gmsaCredentialSpecName"], where)
    if "gmsaCredentialSpec" in options:
        size = len(options["gmsaCredentialSpec"].encode())
        if not 0 < size <= CREDENTIAL_SPEC_LIMIT_BYTES:
            yield FieldError.invalid(
                f"{path}.gmsaCredentialSpec", "…", "must not be empty nor over 64 KiB"
            )
    if "runAsUserName" in options:
        for error in _user_name_errors(options["runAsUserName"]):
            yield FieldError.invalid(f"{path}.runAsUserName", options["runAsUserName"], error)


def _user_name_errors(name: str) -> Iterator[str]:
    """`[DOMAIN\\]USER`."""
    domain, slash, user = name.rpartition("\\")
    if not name or CONTROL_CHARACTERS.search(name) or "\\" in domain:
        yield "must not be empty, hold control characters or several backslashes"
        return
    if len(domain) >= DOMAIN_LIMIT:
        yield f"the domain must be under {DOMAIN_LIMIT} characters"
    if slash and not NETBIOS_DOMAIN.fullmatch(domain) and not DNS_DOMAIN.fullmatch(domain):
        yield "the domain matches neither the NetBios nor the DNS format"
    if not user:
        yield "the user cannot be empty"
    elif len(user) > USER_LIMIT:
        yield f"the user must not be longer than {USER_LIMIT} characters"
    if user and not user.strip(". "):
        yield "the user cannot contain only periods or spaces"
    if NOT_IN_USER_NAME.search(user):
        yield 'the user cannot contain the following characters: "/\\:;|=,+*?<>@[]'


def host_process_errors(
    spec: Document, path: str, containers: list[tuple[Document, str]]
) -> Iterator[FieldError]:
    """Containers that run as processes of a Windows host: all of them or none."""
    whole = _host_process(spec)
    count = 0
    for container, where in containers:
        own = _host_process(container)
        if whole is not None and own is not None and whole != own:
            yield FieldError.invalid(
                f"{where}.securityContext.windowsOptions.hostProcess",
                own,
                f"pod hostProcess value must be identical if both are specified, was {whole}",
            )
        count += bool(whole if own is None else own)
    if not count:
        return
    if count != len(containers):
        yield FieldError.invalid(path, "", "all containers must be HostProcess containers")
    if not spec.get("hostNetwork"):
        yield FieldError.invalid(
            f"{path}.hostNetwork", False, "must be true if pod contains any hostProcess containers"
        )


def _host_process(holder: Document) -> bool | None:
    options = (holder.get("securityContext") or {}).get("windowsOptions") or {}
    value: bool | None = options.get("hostProcess")
    return value
