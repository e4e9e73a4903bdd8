"""The containers of a pod: regular ones, those that run first, and those added for debugging."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.containers.env import (
    variable_errors,
    variable_source_errors,
)
from plimsoll.apiserver.model.kinds.pods.containers.mounts import device_errors, mount_errors
from plimsoll.apiserver.model.kinds.pods.containers.probes import probe_errors
from plimsoll.apiserver.model.kinds.pods.containers.resources import container_resource_errors
from plimsoll.apiserver.model.kinds.pods.images import PULL_POLICIES
from plimsoll.apiserver.model.kinds.pods.security.contexts import container_security_errors
from plimsoll.apiserver.model.kinds.pods.values import (
    dns_label,
    one_of,
    port_name_errors,
    port_number,
    required,
    required_one_of,
)

MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
PROTOCOLS = ("TCP", "UDP", "SCTP")
RESIZABLE = ("cpu", "memory")
RESIZE_POLICIES = ("NotRequired", "RestartContainer")
RESTART_POLICIES = ("Always", "Never", "OnFailure")
RESTART_ACTIONS = ("Restart", "RestartAllContainers")
RULES_LIMIT = 20
EXIT_CODES_LIMIT = 255
ONLY_LONG_RUNNING = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
NOT_FOR_DEBUGGING = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    *ONLY_LONG_RUNNING,
)
NOT_AN_INIT_FIELD = "may not be set for init containers without restartPolicy=Always"
PADDED_IMAGE = "must not have leading or trailing whitespace"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerContext:
    """What a container's rules need to know of its pod."""

    spec: Document
    volumes: Mapping[str, Document]
    """Those without faults of their own."""
    claims: frozenset[str] = field(default_factory=frozenset)
    """Names of resource claims."""

    @property
    def uses_host_users(self) -> bool:
        return self.spec.get("hostUsers") is not False


def regular_container_errors(around: ContainerContext, path: str) -> Iterator[FieldError]:
    containers = around.spec.get("containers") or []
    if not containers:
        yield FieldError.required(path)
        return
    names: set[str] = set()
    for index, container in enumerate(containers):
        where = f"{path}[{index}]"
        yield from _common_errors(container, where, around)
        yield from _duplicate_errors(container, names, where)
        names.add(container.get("name", ""))
        yield from probe_errors(container, where, around.spec)
        yield from _restart_errors(container, where)
    yield from _host_port_errors(containers, path)


def init_container_errors(around: ContainerContext, path: str) -> Iterator[FieldError]:
    names = {container.get("name", "") for container in around.spec.get("containers") or []}
    for index, container in enumerate(around.spec.get("initContainers") or []):
        where = f"{path}[{index}]"
        yield from _common_errors(container, where, around)
        yield from _restart_errors(container, where)
        yield from _duplicate_errors(container, names, where)
        names |= {container.get("name", "")} - {""}
        yield from _host_port_errors([container], path)
        if container.get("restartPolicy") == "Always":
            yield from probe_errors(container, where, around.spec)
            continue
        for name in ONLY_LONG_RUNNING:
            if name in container:
                yield FieldError.forbidden(f"{where}.{name}", NOT_AN_INIT_FIELD)
        for position, policy in enumerate(container.get("resizePolicy") or []):
            if policy.get("restartPolicy") == "RestartContainer":
                yield FieldError.invalid(
                    f"{where}.resizePolicy[{position}].restartPolicy",
                    "RestartContainer",
                    "must not be set for non-sidecar initContainers",
                )


def debug_container_errors(around: ContainerContext, path: str) -> Iterator[FieldError]:
    """Ephemeral containers."""
    others = {
        container.get("name", "")
        for kind in ("containers", "initContainers")
        for container in around.spec.get(kind) or []
    }
    names = set(others)
    for index, container in enumerate(around.spec.get("ephemeralContainers") or []):
        where = f"{path}[{index}]"
        yield from _common_errors(container, where, around)
        yield from _duplicate_errors(container, names, where)
        names.add(container.get("name", ""))
        target = container.get("targetContainerName")
        if target and target not in others:
            yield FieldError.not_found(f"{where}.targetContainerName", target)
        for name in NOT_FOR_DEBUGGING:
            if container.get(name):
                yield FieldError.forbidden(
                    f"{where}.{name}", "cannot be set for an Ephemeral Container"
                )
        for position, mount in enumerate(container.get("volumeMounts") or []):
            for name in ("subPath", "subPathExpr"):
                if mount.get(name):
                    yield FieldError.forbidden(
                        f"{where}.volumeMounts[{position}].{name}",
                        "cannot be set for an Ephemeral Container",
                    )


def padded_image_errors(container: Document, path: str) -> Iterator[FieldError]:
    """Templates may hold such names; they are refused when the pod is made."""
    image = container.get("image", "")
    if image != image.strip():
        yield FieldError.invalid(f"{path}.image", image, PADDED_IMAGE)


def _common_errors(
    container: Document, path: str, around: ContainerContext
) -> Iterator[FieldError]:
    if container.get("name"):
        yield from dns_label(container["name"], f"{path}.name")
    else:
        yield FieldError.required(f"{path}.name")
    yield from required(container.get("image"), f"{path}.image")
    yield from required_one_of(
        container.get("terminationMessagePolicy", ""),
        f"{path}.terminationMessagePolicy",
        MESSAGE_POLICIES,
    )
    yield from _port_errors(container.get("ports") or [], f"{path}.ports")
    yield from variable_errors(container.get("env") or [], f"{path}.env")
    yield from variable_source_errors(container.get("envFrom") or [], f"{path}.envFrom")
    yield from mount_errors(container, around.volumes, path)
    yield from device_errors(container, around.volumes, path)
    yield from required_one_of(
        container.get("imagePullPolicy", ""), f"{path}.imagePullPolicy", PULL_POLICIES
    )
    yield from container_resource_errors(
        container.get("resources") or {}, f"{path}.resources", claims=around.claims
    )
    yield from _resize_errors(container, f"{path}.resizePolicy", around.spec)
    yield from container_security_errors(
        container.get("securityContext") or {},
        f"{path}.securityContext",
        uses_host_users=around.uses_host_users,
    )


def _duplicate_errors(container: Document, names: set[str], path: str) -> Iterator[FieldError]:
    name = container.get("name", "")
    if name in names:
        yield FieldError.duplicate(f"{path}.name", name)


def _port_errors(ports: list[Document], path: str) -> Iterator[FieldError]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        where = f"{path}[{index}]"
        name = port.get("name", "")
        found = port_name_errors(name) if name else []
        for error in found:
            yield FieldError.invalid(f"{where}.name", name, error)
        if name and not found and name in names:
            yield FieldError.duplicate(f"{where}.name", name)
        names.add(name)
        if port.get("containerPort"):
            yield from port_number(port["containerPort"], f"{where}.containerPort")
        else:
            yield FieldError.required(f"{where}.containerPort")
        if port.get("hostPort"):
            yield from port_number(port["hostPort"], f"{where}.hostPort")
        yield from required_one_of(port.get("protocol", ""), f"{where}.protocol", PROTOCOLS)


def _host_port_errors(containers: list[Document], path: str) -> Iterator[FieldError]:
    """A port of the host belongs to one container. Init containers are asked one by one."""
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports") or []):
            if not port.get("hostPort"):
                continue
            shown = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if shown in taken:
                yield FieldError.duplicate(f"{path}[{index}].ports[{position}].hostPort", shown)
            taken.add(shown)


def _resize_errors(container: Document, path: str, spec: Document) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, policy in enumerate(container.get("resizePolicy") or []):
        name, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in seen:
            yield FieldError.duplicate(f"{path}[{index}]", name)
        seen.add(name)
        yield from required_one_of(name, path, RESIZABLE)
        yield from required_one_of(restart, path, RESIZE_POLICIES)
        if spec.get("restartPolicy") == "Never" and restart != "NotRequired":
            yield FieldError.invalid(
                path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            )


def _restart_errors(container: Document, path: str) -> Iterator[FieldError]:
    rules = container.get("restartPolicyRules") or []
    policy = container.get("restartPolicy")
    if policy is not None:
        yield from one_of(policy, f"{path}.restartPolicy", RESTART_POLICIES)
    elif rules:
        yield FieldError.required(
            f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used"
        )
    if len(rules) > RULES_LIMIT:
        yield FieldError.too_many(f"{path}.restartPolicyRules", len(rules), RULES_LIMIT)
    for index, rule in enumerate(rules):
        where = f"{path}.restartPolicyRules[{index}]"
        yield from one_of(rule.get("action", ""), f"{where}.action", RESTART_ACTIONS)
        if "exitCodes" not in rule:
            yield FieldError.required(f"{where}.exitCodes", "must be specified")
            continue
        codes = rule["exitCodes"]
        yield from one_of(codes.get("operator", ""), f"{where}.exitCodes.operator", ("In", "NotIn"))
        values = codes.get("values") or []
        if len(values) > EXIT_CODES_LIMIT:
            yield FieldError.too_many(f"{where}.exitCodes.values", len(values), EXIT_CODES_LIMIT)
