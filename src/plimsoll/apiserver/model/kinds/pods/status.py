"""The status of a pod: how it begins, and what the node agent and controllers may write."""

from collections.abc import Iterator
from datetime import datetime

from plimsoll.api.meta import wire_time
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.networking.addresses import address_errors, find_address
from plimsoll.apiserver.model.kinds.pods.annotations import (
    annotation_change_errors,
    annotation_content_errors,
)
from plimsoll.apiserver.model.kinds.pods.spec import containers_with_paths
from plimsoll.apiserver.model.kinds.pods.totals import quality_of_service
from plimsoll.apiserver.model.kinds.pods.values import (
    dns_subdomain,
    qualified_name,
    user_or_group,
)
from plimsoll.apiserver.model.kinds.rules import keep_all_but_status

SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
GATED = "Scheduling is blocked due to non-empty scheduling gates"
IP_FAMILIES = 2


def initial_status(pod: Document, now: datetime) -> Document:
    spec = pod.get("spec") or {}
    status: Document = {"phase": "Pending", "qosClass": quality_of_service(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            condition("PodScheduled", "False", now)
            | {"reason": "SchedulingGated", "message": GATED}
        ]
    return status


def condition(type_: str, status: str, now: datetime) -> Document:
    return {
        "type": type_,
        "status": status,
        "lastProbeTime": None,
        "lastTransitionTime": wire_time(now),
    }


def prepare_status(new: Document, old: Document, now: datetime) -> None:
    keep_all_but_status(new, old, now)
    status, old_status = new.setdefault("status", {}), old.get("status") or {}
    for name in ("qosClass", "observedGeneration"):
        if not status.get(name) and old_status.get(name):
            status[name] = old_status[name]
    _keep_observed_generations(status, old_status)


def _keep_observed_generations(status: Document, old_status: Document) -> None:
    """Clients that do not know the field do not erase it; conditions of a type go in order."""
    known: dict[str, list[int]] = {}
    for old in old_status.get("conditions") or []:
        known.setdefault(old.get("type", ""), []).append(old.get("observedGeneration", 0))
    for new in status.get("conditions") or []:
        generations = known.get(new.get("type", "")) or [0]
        generation = generations.pop(0)
        if not new.get("observedGeneration") and generation:
            new["observedGeneration"] = generation


def pod_status_errors(new: Document, old: Document) -> Iterator[FieldError]:
    spec = old.get("spec") or {}
    annotations = (
        new["metadata"].get("annotations") or {},
        old["metadata"].get("annotations") or {},
    )
    yield from annotation_change_errors(*annotations, "metadata.annotations")
    yield from annotation_content_errors(
        annotations[0], spec, "metadata.annotations", containers_with_paths(spec, "spec")
    )
    status, old_status = new.get("status") or {}, old.get("status") or {}
    yield from _condition_errors(status.get("conditions") or [])
    yield from _nomination_errors(status, old_status, spec)
    if status.get("observedGeneration", 0) < 0:
        yield FieldError.invalid(
            "status.observedGeneration", status["observedGeneration"], "must not be negative"
        )
    if status.get("qosClass") != old_status.get("qosClass"):
        yield FieldError.invalid("status.qosClass", status.get("qosClass"), "field is immutable")
    yield from _container_errors(status, old_status, spec)
    yield from _claim_errors(status, spec)
    yield from _address_errors(status, old_status)


def _condition_errors(conditions: list[Document]) -> Iterator[FieldError]:
    for index, item in enumerate(conditions):
        where = f"status.conditions[{index}]"
        if item.get("observedGeneration", 0) < 0:
            yield FieldError.invalid(
                f"{where}.observedGeneration", item["observedGeneration"], "must not be negative"
            )
        if item.get("type", "") not in SYSTEM_CONDITIONS:
            yield from qualified_name(item.get("type", ""), f"{where}.Type")


def _nomination_errors(
    status: Document, old_status: Document, spec: Document
) -> Iterator[FieldError]:
    node = status.get("nominatedNodeName", "")
    if not node or node == old_status.get("nominatedNodeName", ""):
        return
    yield from dns_subdomain(node, "status.nominatedNodeName")
    if spec.get("nodeName"):
        yield FieldError.forbidden(
            "status.nominatedNodeName", "may not be set on pods that are already bound to a node"
        )


def _container_errors(
    status: Document, old_status: Document, spec: Document
) -> Iterator[FieldError]:
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        name = f"{kind.removesuffix('s')}Statuses"
        statuses = status.get(name) or []
        yield from _restart_errors(name, statuses, old_status.get(name) or [], spec)
        for index, container in enumerate(statuses):
            user = (container.get("user") or {}).get("linux")
            if user is not None:
                yield from _user_errors(user, f"status.{name}[{index}].user.linux", spec)


def _user_errors(user: Document, path: str, spec: Document) -> Iterator[FieldError]:
    if (spec.get("os") or {}).get("name") == "windows":
        yield FieldError.forbidden(path, "cannot be set for a windows pod")
        return
    for name in ("uid", "gid"):
        yield from user_or_group(user.get(name, 0), f"{path}.{name}")
    for index, group in enumerate(user.get("supplementalGroups") or []):
        yield from user_or_group(group, f"{path}.supplementalGroups[{index}]")


def _restart_errors(
    name: str, statuses: list[Document], old_statuses: list[Document], spec: Document
) -> Iterator[FieldError]:
    """A container that ended for good stays ended."""
    kind = name.replace("Statuses", "s")
    if kind != "ephemeralContainers" and _all_may_restart(spec):
        return
    containers = {container.get("name", ""): container for container in spec.get(kind) or []}
    for index, old in enumerate(old_statuses):
        ended = (old.get("state") or {}).get("terminated")
        new = next((s for s in statuses if s.get("name") == old.get("name")), None)
        if ended is None or new is None or "terminated" in (new.get("state") or {}):
            continue
        container = containers.get(old.get("name", ""))
        restarts = container is not None and _may_restart(container, spec, ended.get("exitCode", 0))
        if kind == "ephemeralContainers" or not restarts:
            yield FieldError.forbidden(
                f"status.{name}[{index}].state", "may not be transitioned to non-terminated state"
            )


def _all_may_restart(spec: Document) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for kind in ("containers", "initContainers")
        for container in spec.get(kind) or []
        for rule in container.get("restartPolicyRules") or []
    )


def _may_restart(container: Document, spec: Document, exit_code: int) -> bool:
    for rule in container.get("restartPolicyRules") or []:
        codes = rule.get("exitCodes") or {}
        listed = exit_code in (codes.get("values") or [])
        if listed == (codes.get("operator") == "In"):
            return True
    match container.get("restartPolicy") or spec.get("restartPolicy"):
        case "Never":
            return False
        case "OnFailure":
            return exit_code != 0
        case _:
            return True


def _claim_errors(status: Document, spec: Document) -> Iterator[FieldError]:
    known = {claim.get("name", "") for claim in spec.get("resourceClaims") or []}
    seen: set[str] = set()
    for index, claim in enumerate(status.get("resourceClaimStatuses") or []):
        where, name = f"status.resourceClaimStatuses[{index}]", claim.get("name", "")
        if name not in known:
            yield FieldError.invalid(
                f"{where}.name", name, "must match the name of an entry in `spec.resourceClaims`"
            )
        if name in seen:
            yield FieldError.duplicate(f"{where}.name", name)
        seen.add(name)
        if "resourceClaimName" in claim:
            yield from dns_subdomain(claim["resourceClaimName"], f"{where}.resourceClaimName")


def _address_errors(status: Document, old_status: Document) -> Iterator[FieldError]:
    hosts = [item.get("ip", "") for item in status.get("hostIPs") or []]
    if hosts and status.get("hostIP", "") != hosts[0]:
        yield FieldError.invalid("status.hostIPs[0].ip", hosts[0], "must be equal to `hostIP`")
    for name in ("podIPs", "hostIPs"):
        addresses = [item.get("ip", "") for item in status.get(name) or []]
        known = {item.get("ip", "") for item in old_status.get(name) or []}
        for index, address in enumerate(addresses):
            if address not in known:
                yield from address_errors(address, f"status.{name}[{index}]")
        families = {parsed.version for parsed in map(find_address, addresses) if parsed}
        if len(addresses) > 1 and (len(addresses) > IP_FAMILIES or len(families) != IP_FAMILIES):
            yield FieldError.invalid(
                f"status.{name}", addresses, "may specify no more than one IP for each IP family"
            )
