"""The plugin PodSecurity: reads a namespace's labels, and refuses or warns of pods."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.admission.pod_security import baseline, restricted
from plimsoll.apiserver.admission.pod_security.violations import PodViolation
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.status import forbidden, invalid

PREFIX = "pod-security.kubernetes.io/"
ENFORCE, WARN = "enforce", "warn"
MODES = (ENFORCE, "audit", WARN)
PRIVILEGED, BASELINE, RESTRICTED = "privileged", "baseline", "restricted"
LEVELS = (PRIVILEGED, BASELINE, RESTRICTED)
VERSION = re.compile(r"latest|v1\.(0|[1-9][0-9]*)")

SecurityCheck = Callable[[Document, Document], Iterator[PodViolation]]

IN_BOTH: tuple[SecurityCheck, ...] = (
    baseline.app_armor,
    baseline.host_namespaces,
    baseline.host_ports,
    baseline.probed_hosts,
    baseline.privileged,
    baseline.selinux,
    baseline.sysctls,
    baseline.windows_host_process,
)
"""Those that the level `restricted` does not replace by a stricter one."""
CHECKS: Mapping[str, tuple[SecurityCheck, ...]] = {
    PRIVILEGED: (),
    BASELINE: (
        baseline.app_armor,
        baseline.capabilities,
        baseline.host_namespaces,
        baseline.host_paths,
        baseline.host_ports,
        baseline.probed_hosts,
        baseline.privileged,
        baseline.proc_mount,
        baseline.selinux,
        baseline.seccomp,
        baseline.sysctls,
        baseline.windows_host_process,
    ),
    RESTRICTED: (
        *IN_BOTH,
        restricted.privilege_escalation,
        restricted.capabilities,
        baseline.unmasked_proc,
        restricted.volumes,
        restricted.run_as_non_root,
        restricted.run_as_user,
        restricted.seccomp,
    ),
}
TEMPLATES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "podtemplates"): ("template",),
    ("", "replicationcontrollers"): ("spec", "template"),
    ("apps", "daemonsets"): ("spec", "template"),
    ("apps", "deployments"): ("spec", "template"),
    ("apps", "replicasets"): ("spec", "template"),
    ("apps", "statefulsets"): ("spec", "template"),
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
    ("batch", "jobs"): ("spec", "template"),
}
"""By group and plural name: where a workload has its pods. They are only warned of."""
PARTS = ("", "ephemeralcontainers", "resize")
"""Endpoints that change what a pod does."""
CONCERN = frozenset({("", "pods"), ("", "namespaces"), *TEMPLATES})


@dataclass(frozen=True, slots=True)
class SecurityLevel:
    name: str
    version: str = "latest"

    def __str__(self) -> str:
        return f"{self.name}:{self.version}"


def check(attributes: Attributes) -> None:
    """Raises ApiError."""
    if attributes.operation is Operation.DELETE or attributes.subresource not in PARTS:
        return
    place = (attributes.resource.group, attributes.resource.plural)
    if place == ("", "namespaces"):
        _check_labels(attributes)
        return
    namespace = attributes.reader.get("", "namespaces", "", attributes.namespace)
    labels = {} if namespace is None else namespace["metadata"].get("labels") or {}
    if not any(label.startswith(PREFIX) for label in labels):
        return
    if place == ("", "pods"):
        _check_pod(attributes, labels)
    else:
        template = _template(attributes.document, TEMPLATES[place])
        _warn(attributes, labels, template.get("metadata") or {}, template.get("spec") or {})


def _check_pod(attributes: Attributes, labels: Mapping[str, str]) -> None:
    pod = attributes.document
    if attributes.old is not None and attributes.old.get("spec") == pod.get("spec"):
        return
    meta, spec = pod["metadata"], pod.get("spec") or {}
    level = _level(labels, ENFORCE)
    found = violations(level, meta, spec)
    if found:
        why = f'violates PodSecurity "{level}": {found}'
        raise forbidden(attributes.resource, attributes.name, why)
    _warn(attributes, labels, meta, spec)


def _warn(
    attributes: Attributes, labels: Mapping[str, str], metadata: Document, spec: Document
) -> None:
    level = _level(labels, WARN)
    found = violations(level, metadata, spec)
    if found:
        attributes.warnings.append(f'would violate PodSecurity "{level}": {found}')


def violations(level: SecurityLevel, metadata: Document, spec: Document) -> str:
    """What the pod does that the level does not allow; empty: nothing."""
    found = (each for check_ in CHECKS[level.name] for each in check_(metadata, spec))
    return ", ".join(map(str, found))


def _level(labels: Mapping[str, str], mode: str) -> SecurityLevel:
    """A level that cannot be read enforces the strictest, and warns of nothing."""
    name = labels.get(PREFIX + mode, PRIVILEGED)
    version = labels.get(f"{PREFIX}{mode}-version", "latest")
    if name not in LEVELS:
        name = RESTRICTED if mode == ENFORCE else PRIVILEGED
    return SecurityLevel(name, version if VERSION.fullmatch(version) else "latest")


def _template(document: Document, path: tuple[str, ...]) -> Document:
    for name in path:
        document = document.get(name) or {}
    return document


def _check_labels(attributes: Attributes) -> None:
    """Labels that cannot be read are refused, but for those that the namespace has already."""
    labels = attributes.document["metadata"].get("labels") or {}
    before = ((attributes.old or {}).get("metadata") or {}).get("labels") or {}
    errors = [
        error
        for mode in MODES
        for error in _label_errors(mode, labels)
        if any(labels.get(f) != before.get(f) for f in (PREFIX + mode, f"{PREFIX}{mode}-version"))
    ]
    if errors:
        raise invalid("", "Namespace", attributes.name, errors)


def _label_errors(mode: str, labels: Mapping[str, str]) -> Iterator[FieldError]:
    level, version = labels.get(PREFIX + mode), labels.get(f"{PREFIX}{mode}-version")
    if level is not None and level not in LEVELS:
        said = f"must be one of {', '.join(LEVELS)}"
        yield FieldError.invalid(f"metadata.labels[{PREFIX}{mode}]", level, said)
    if version is not None and not VERSION.fullmatch(version):
        said = 'must be "latest" or "v1.x"'
        yield FieldError.invalid(f"metadata.labels[{PREFIX}{mode}-version]", version, said)
