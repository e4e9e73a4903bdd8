"""Short pods for tests, as they are after their types were read and their defaults filled in."""

from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.rules import RULES
from plimsoll.apiserver.model.schema import round_trip

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LATER = datetime(2026, 1, 2, 4, 0, 0, tzinfo=UTC)


def a_container(name: str = "c", **fields: Any) -> Document:
    return {"name": name, "image": "busybox:1.36", **fields}


def a_pod(*, meta: Document | None = None, **spec: Any) -> Document:
    """A pod that a client sent."""
    spec.setdefault("containers", [a_container()])
    sent = {"metadata": {"name": "web", "namespace": "default"} | (meta or {}), "spec": spec}
    pod = round_trip("io.k8s.api.core.v1.Pod", sent).document
    RULES.default(pod)
    return pod


def a_pod_with(**container: Any) -> Document:
    return a_pod(containers=[a_container(**container)])


def a_stored_pod(*, meta: Document | None = None, **spec: Any) -> Document:
    pod = a_pod(meta=meta, **spec)
    RULES.prepare_create(pod, NOW)
    return pod


def changed(pod: Document, **spec: Any) -> Document:
    """The pod with other fields in its spec; None removes one."""
    new = deepcopy(pod)
    new["spec"] = {k: v for k, v in (new["spec"] | spec).items() if v is not None}
    return new


def causes(errors: Iterable[FieldError]) -> Counter[tuple[str, str]]:
    return Counter((e.type.removeprefix("FieldValue"), e.field) for e in errors)


def complaints(pod: Document) -> Counter[tuple[str, str]]:
    return causes(RULES.validate(pod))
