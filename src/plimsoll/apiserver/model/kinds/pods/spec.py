"""Everything wrong with the spec of a pod, alone or in a template."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.object_meta import annotation_errors
from plimsoll.apiserver.model.kinds.pods.annotations import (
    MIRROR,
    Containers,
    annotation_content_errors,
    profile_match_errors,
)
from plimsoll.apiserver.model.kinds.pods.containers.containers import (
    ContainerContext,
    debug_container_errors,
    init_container_errors,
    padded_image_errors,
    regular_container_errors,
)
from plimsoll.apiserver.model.kinds.pods.containers.env import file_key_volume_errors
from plimsoll.apiserver.model.kinds.pods.containers.resources import (
    container_resource_errors,
    pod_resource_errors,
)
from plimsoll.apiserver.model.kinds.pods.network import network_errors
from plimsoll.apiserver.model.kinds.pods.scheduling.affinity import affinity_errors, spread_errors
from plimsoll.apiserver.model.kinds.pods.scheduling.tolerations import toleration_errors
from plimsoll.apiserver.model.kinds.pods.security.contexts import pod_security_errors
from plimsoll.apiserver.model.kinds.pods.security.windows import (
    host_process_errors,
    operating_system_errors,
)
from plimsoll.apiserver.model.kinds.pods.values import (
    MAX_INT32,
    dns_label,
    dns_subdomain,
    in_range,
    qualified_name,
    required_one_of,
)
from plimsoll.apiserver.model.kinds.pods.volumes.pod_volumes import volume_list_errors
from plimsoll.apiserver.model.kinds.selectors import labels_errors

RESTART_POLICIES = ("Always", "OnFailure", "Never")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
SUBDOMAIN_FIELDS = ("serviceAccountName", "nodeName", "priorityClassName")


def containers_with_paths(spec: Document, path: str) -> Containers:
    return [
        (container, f"{path}.{kind}[{index}]")
        for kind in ("initContainers", "containers", "ephemeralContainers")
        for index, container in enumerate(spec.get(kind) or [])
    ]


def pod_spec_errors(
    spec: Document, path: str, *, pod: Document | None = None
) -> Iterator[FieldError]:
    """`pod` is the metadata of the pod whose spec it is; None for a template."""
    containers = containers_with_paths(spec, path)
    volumes, volume_errors = volume_list_errors(
        spec.get("volumes") or [], f"{path}.volumes", pod=pod
    )
    yield from volume_errors
    claims = spec.get("resourceClaims") or []
    yield from _resource_claim_errors(claims, f"{path}.resourceClaims", pod or {})
    around = ContainerContext(
        spec=spec,
        volumes=volumes,
        claims=frozenset(claim["name"] for claim in claims if claim.get("name")),
    )
    yield from regular_container_errors(around, f"{path}.containers")
    yield from init_container_errors(around, f"{path}.initContainers")
    yield from debug_container_errors(around, f"{path}.ephemeralContainers")
    yield from file_key_volume_errors(iter(containers), spec.get("volumes") or [])
    yield from pod_resource_errors(spec, f"{path}.resources")
    yield from network_errors(spec, path, is_pod=pod is not None)
    yield from pod_security_errors(spec, f"{path}.securityContext")
    yield from host_process_errors(spec, path, containers)
    yield from operating_system_errors(spec, path, containers)
    yield from _host_user_errors(spec, path, containers)
    yield from _scheduling_errors(spec, path)
    yield from _other_errors(spec, path)


def _scheduling_errors(spec: Document, path: str) -> Iterator[FieldError]:
    yield from labels_errors(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    yield from affinity_errors(spec.get("affinity") or {}, f"{path}.affinity")
    yield from toleration_errors(spec.get("tolerations") or [], f"{path}.tolerations")
    yield from spread_errors(
        spec.get("topologySpreadConstraints") or [], f"{path}.topologySpreadConstraints"
    )
    seen: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or []):
        where, name = f"{path}.schedulingGates[{index}]", gate.get("name", "")
        yield from qualified_name(name, where)
        if name in seen:
            yield FieldError.duplicate(where, name)
        seen.add(name)
    if "preemptionPolicy" in spec:
        yield from required_one_of(
            spec["preemptionPolicy"], f"{path}.preemptionPolicy", PREEMPTION_POLICIES
        )


def _other_errors(spec: Document, path: str) -> Iterator[FieldError]:
    if "terminationGracePeriodSeconds" not in spec:
        yield FieldError.required(f"{path}.terminationGracePeriodSeconds")
    yield from required_one_of(
        spec.get("restartPolicy", ""), f"{path}.restartPolicy", RESTART_POLICIES
    )
    for index, gate in enumerate(spec.get("readinessGates") or []):
        where = f"{path}.readinessGates[{index}].conditionType"
        yield from qualified_name(gate.get("conditionType", ""), where)
    for name in SUBDOMAIN_FIELDS:
        if spec.get(name):
            yield from dns_subdomain(spec[name], f"{path}.{name}")
    if "runtimeClassName" in spec:
        yield from dns_subdomain(spec["runtimeClassName"], f"{path}.runtimeClassName")
    if "activeDeadlineSeconds" in spec:
        where = f"{path}.activeDeadlineSeconds"
        yield from in_range(spec["activeDeadlineSeconds"], where, 1, MAX_INT32)
    if spec.get("overhead"):
        yield from container_resource_errors({"limits": spec["overhead"]}, f"{path}.overhead")


def _host_user_errors(spec: Document, path: str, containers: Containers) -> Iterator[FieldError]:
    """A pod with users of its own cannot share what belongs to those of the host."""
    if spec.get("hostUsers") is not False:
        return
    why = "when `hostUsers` is false"
    for name, shown in (("hostNetwork",) * 2, ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(name):
            yield FieldError.forbidden(f"{path}.{shown}", why)
    for container, where in containers:
        if container.get("volumeDevices"):
            yield FieldError.forbidden(f"{where}.volumeDevices", why)


def _resource_claim_errors(
    claims: list[Document], path: str, pod: Document
) -> Iterator[FieldError]:
    if claims and MIRROR in (pod.get("annotations") or {}):
        yield FieldError.forbidden("", "static pods do not support resource claims")
        return
    names: set[str] = set()
    for index, claim in enumerate(claims):
        where, name = f"{path}[{index}]", claim.get("name", "")
        if not name:
            yield FieldError.required(f"{where}.name")
        elif name in names:
            yield FieldError.duplicate(f"{where}.name", name)
        else:
            yield from dns_label(name, f"{where}.name")
        names.add(name)
        given = [n for n in ("resourceClaimName", "resourceClaimTemplateName") if n in claim]
        if len(given) != 1:
            yield FieldError.invalid(
                where, claim, "must specify `resourceClaimName` or `resourceClaimTemplateName`"
            )
        for field in given:
            yield from dns_subdomain(claim[field], f"{where}.{field}")


def pod_errors(pod: Document) -> Iterator[FieldError]:
    """What holds for a pod whether it is new or changed, its metadata aside."""
    meta, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    containers = containers_with_paths(spec, "spec")
    yield from annotation_content_errors(
        meta.get("annotations") or {}, spec, "metadata.annotations", containers
    )
    yield from pod_spec_errors(spec, "spec", pod=meta)
    for container, where in containers:
        yield from padded_image_errors(container, where)
    if not spec.get("serviceAccountName"):
        yield from _token_errors(spec.get("volumes") or [])


def _token_errors(volumes: list[Document]) -> Iterator[FieldError]:
    for index, volume in enumerate(volumes):
        sources = (volume.get("projected") or {}).get("sources") or []
        for position, source in enumerate(sources):
            if "serviceAccountToken" in source:
                yield FieldError.forbidden(
                    f"spec.volumes[{index}].projected.sources[{position}].serviceAccountToken",
                    "must not be specified when serviceAccountName is not set",
                )


def template_errors(template: Document, path: str) -> Iterator[FieldError]:
    """A pod template; labels and annotations are refused without `metadata` in their paths."""
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    annotations = meta.get("annotations") or {}
    containers = containers_with_paths(spec, f"{path}.spec")
    yield from labels_errors(meta.get("labels") or {}, f"{path}.labels")
    yield from annotation_errors(annotations, f"{path}.annotations")
    yield from annotation_content_errors(annotations, spec, f"{path}.annotations", containers)
    yield from pod_spec_errors(spec, f"{path}.spec")
    yield from profile_match_errors(annotations, spec, f"{path}.spec", containers)
    if spec.get("ephemeralContainers"):
        yield FieldError.forbidden(
            f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"
        )
