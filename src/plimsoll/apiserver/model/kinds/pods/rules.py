"""What the API server does with pods: the functions of this package in the order of a request."""

from collections.abc import Iterable
from datetime import datetime

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.annotations import profile_match_errors
from plimsoll.apiserver.model.kinds.pods.debugging import (
    ephemeral_container_errors,
    prepare_ephemeral_containers,
)
from plimsoll.apiserver.model.kinds.pods.defaults import default_pod
from plimsoll.apiserver.model.kinds.pods.resize import prepare_resize, resize_errors
from plimsoll.apiserver.model.kinds.pods.scheduling.affinity import take_label_keys_from_pod
from plimsoll.apiserver.model.kinds.pods.security.app_armor import copy_app_armor_to_fields
from plimsoll.apiserver.model.kinds.pods.spec import containers_with_paths, pod_errors
from plimsoll.apiserver.model.kinds.pods.status import (
    initial_status,
    pod_status_errors,
    prepare_status,
)
from plimsoll.apiserver.model.kinds.pods.update import pod_update_errors
from plimsoll.apiserver.model.kinds.pods.values import distinct
from plimsoll.apiserver.model.kinds.pods.warnings import pod_warnings
from plimsoll.apiserver.model.kinds.rules import KindRules, keep_status


def prepare_create(pod: Document, now: datetime) -> None:
    pod["status"] = initial_status(pod, now)
    take_label_keys_from_pod(pod)
    copy_app_armor_to_fields(pod)


def validate(pod: Document) -> Iterable[FieldError]:
    spec = pod.get("spec") or {}
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    errors = [
        *pod_errors(pod),
        *profile_match_errors(annotations, spec, "spec", containers_with_paths(spec, "spec")),
    ]
    if spec.get("ephemeralContainers"):
        errors.append(FieldError.forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        errors.append(
            FieldError.forbidden(
                "spec.nodeName", "cannot be set until all schedulingGates have been cleared"
            )
        )
    return distinct(errors)


def validate_update(new: Document, old: Document) -> Iterable[FieldError]:
    return distinct(pod_update_errors(new, old))


def validate_status(new: Document, old: Document) -> Iterable[FieldError]:
    return distinct(pod_status_errors(new, old))


def validate_ephemeral_containers(new: Document, old: Document) -> Iterable[FieldError]:
    return distinct(ephemeral_container_errors(new, old))


def validate_resize(new: Document, old: Document) -> Iterable[FieldError]:
    return distinct(resize_errors(new, old))


def selectable_fields(pod: Document) -> dict[str, str]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    addresses = status.get("podIPs") or []
    return {
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.restartPolicy": spec.get("restartPolicy", ""),
        "spec.schedulerName": spec.get("schedulerName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
        "status.phase": status.get("phase", ""),
        "status.podIP": addresses[0].get("ip", "") if addresses else "",
        # Clients may name it, but it never has a value.
        "status.podIPs": "",
        "status.nominatedNodeName": status.get("nominatedNodeName", ""),
    }


RULES = KindRules(
    default=default_pod,
    prepare_create=prepare_create,
    prepare_update=keep_status,
    prepare_status=prepare_status,
    validate=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    parts={
        "ephemeralcontainers": (prepare_ephemeral_containers, validate_ephemeral_containers),
        "resize": (prepare_resize, validate_resize),
    },
    warnings=pod_warnings,
    selectable_fields=selectable_fields,
    has_generation=True,
    returns_deleted=True,
    name_checked_on_update=True,
)
