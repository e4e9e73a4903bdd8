"""The level `baseline`: nothing that is known to lead out of a container."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.pod_security.violations import (
    PodViolation,
    containers_of,
    context_of,
    has_own_users,
    named,
    offenders,
    quoted,
    setters,
)

CAPABILITIES = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)
SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    }
)
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def app_armor(metadata: Document, spec: Document) -> Iterator[PodViolation]:
    def is_bad(context: Document) -> bool:
        return (context.get("appArmorProfile") or {}).get("type") == "Unconfined"

    who, values = [setters(spec, is_bad)], ['"Unconfined"']
    if not who[0]:
        who, values = [], []
    notes = [
        f'"{key}="{value}""'
        for key, value in sorted((metadata.get("annotations") or {}).items())
        if key.startswith(APP_ARMOR) and not _is_fine_profile(value)
    ]
    if notes:
        who.append("annotation" if len(notes) == 1 else "annotations")
    if who:
        values += notes
        reason = f"forbidden AppArmor profile{'s' if len(values) > 1 else ''}"
        must = f"must not set AppArmor profile type to {', '.join(values)}"
        yield PodViolation(reason, f"{' and '.join(who)} {must}")


def _is_fine_profile(name: str) -> bool:
    return name in ("", "runtime/default") or name.startswith("localhost/")


def capabilities(_metadata: Document, spec: Document) -> Iterator[PodViolation]:
    bad: set[str] = set()
    names = []
    for container in containers_of(spec):
        added = set((context_of(container).get("capabilities") or {}).get("add") or ())
        if added - CAPABILITIES:
            names.append(container.get("name", ""))
            bad |= added - CAPABILITIES
    if names:
        detail = (
            f"{named('container', names)} must not include {quoted(sorted(bad))} in "
            "securityContext.capabilities.add"
        )
        yield PodViolation("non-default capabilities", detail)


def host_namespaces(_metadata: Document, spec: Document) -> Iterator[PodViolation]:
    shared = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    if shared:
        yield PodViolation("host namespaces", ", ".join(shared))


def host_paths(_metadata: Document, spec: Document) -> Iterator[PodViolation]:
    names = [volume["name"] for volume in spec.get("volumes") or () if "hostPath" in volume]
    if names:
        yield PodViolation("hostPath volumes", named("volume", names))


def host_ports(_metadata: Document, spec: Document) -> Iterator[PodViolation]:
    def ports(container: Document) -> list[int]:
        return [p["hostPort"] for p in container.get("ports") or () if p.get("hostPort")]

    names = offenders(spec, lambda container: bool(ports(container)))
    if names:
        numbers = sorted({str(port) for c in containers_of(spec) for port in ports(c)})
        many = "s" if len(numbers) > 1 else ""
        detail = f"{named('container', names)} use{'s' if len(names) == 1 else ''} hostPort{many}"
        yield PodViolation("hostPort", f"{detail} {', '.join(numbers)}")


def probed_hosts(_metadata: Document, spec: Document) -> Iterator[PodViolation]:
    def hosts(container: Document) -> list[str]:
        hooks = list((container.get("lifecycle") or {}).values())
        handlers = [*(container.get(probe) or {} for probe in PROBES), *hooks]
        actions = [h.get(kind) or {} for h in handlers for kind in ("httpGet", "tcpSocket")]
        return [action["host"] for action in actions if action.get("host")]

    names = offenders(spec, lambda container: bool(hosts(container)))
    if names:
        bad = sorted({host for c in containers_of(spec) for host in hosts(c)})
        many = "s" if len(bad) > 1 else ""
        detail = f"{named('container', names)} use{'s' if len(names) == 1 else ''}"
        yield PodViolation(
            "probe or lifecycle host", f"{detail} probe or lifecycle host{many} {quoted(bad)}"
        )


def privileged(_metadata: Document, spec: Document) -> Iterator[PodViolation]:
    names = offenders(spec, lambda c: bool(context_of(c).get("privileged")))
    if names:
        must = "must not set securityContext.privileged=true"
        yield PodViolation("privileged", f"{named('container', names)} {must}")


def proc_mount(metadata: Document, spec: Document) -> Iterator[PodViolation]:
    if not has_own_users(spec):
        yield from unmasked_proc(metadata, spec)


def unmasked_proc(_metadata: Document, spec: Document) -> Iterator[PodViolation]:
    def is_bad(container: Document) -> bool:
        return bool(context_of(container).get("procMount", "Default") != "Default")

    names = offenders(spec, is_bad)
    if names:
        values = sorted({context_of(c)["procMount"] for c in containers_of(spec) if is_bad(c)})
        must = f"must not set securityContext.procMount to {quoted(values)}"
        yield PodViolation("procMount", f"{named('container', names)} {must}")


def selinux(_metadata: Document, spec: Document) -> Iterator[PodViolation]:
    contexts = [context_of(spec), *map(context_of, containers_of(spec))]
    options = [context.get("seLinuxOptions") or {} for context in contexts]

    def is_bad(context: Document) -> bool:
        chosen = context.get("seLinuxOptions") or {}
        return bool(
            chosen.get("type", "") not in SELINUX_TYPES or chosen.get("user") or chosen.get("role")
        )

    who = setters(spec, is_bad)
    if who:
        types = sorted({o["type"] for o in options if o.get("type", "") not in SELINUX_TYPES})
        found = [f"type{'s' if len(types) > 1 else ''} {quoted(types)}"] if types else []
        found += [f"{f} may not be set" for f in ("user", "role") if any(o.get(f) for o in options)]
        yield PodViolation(
            "seLinuxOptions",
            f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(found)}",
        )


def seccomp(_metadata: Document, spec: Document) -> Iterator[PodViolation]:
    def is_bad(context: Document) -> bool:
        return (context.get("seccompProfile") or {}).get("type") == "Unconfined"

    who = setters(spec, is_bad)
    if who:
        must = 'must not set securityContext.seccompProfile.type to "Unconfined"'
        yield PodViolation("seccompProfile", f"{who} {must}")


def sysctls(_metadata: Document, spec: Document) -> Iterator[PodViolation]:
    names = [each.get("name", "") for each in context_of(spec).get("sysctls") or ()]
    bad = [name for name in names if name not in SYSCTLS]
    if bad:
        yield PodViolation("forbidden sysctls", ", ".join(bad))


def windows_host_process(_metadata: Document, spec: Document) -> Iterator[PodViolation]:
    who = setters(spec, lambda c: bool((c.get("windowsOptions") or {}).get("hostProcess")))
    if who:
        must = "must not set securityContext.windowsOptions.hostProcess=true"
        yield PodViolation("hostProcess", f"{who} {must}")
