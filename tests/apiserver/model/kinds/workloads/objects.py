"""Short workloads for tests, as they are after their types were read and defaults filled in."""

from copy import deepcopy
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.rules import KindRules
from plimsoll.apiserver.model.schema import round_trip, schema_name
from tests.apiserver.model.kinds.pods.objects import NOW

SELECTOR = {"matchLabels": {"app": "web"}}


def a_template(*, labels: dict[str, str] | None = None, **spec: Any) -> Document:
    spec.setdefault("containers", [{"name": "c", "image": "nginx:1.25"}])
    return {"metadata": {"labels": {"app": "web"} if labels is None else labels}, "spec": spec}


def a_workload(rules: KindRules, group: str, kind: str, **spec: Any) -> Document:
    sent = {"metadata": {"name": "web", "namespace": "default", "uid": "u1"}, "spec": spec}
    document = round_trip(schema_name(group, "v1", kind), sent).document
    rules.default(document)
    return document


def stored(rules: KindRules, workload: Document) -> Document:
    rules.prepare_create(workload, NOW)
    return workload


def with_spec(workload: Document, **spec: Any) -> Document:
    new = deepcopy(workload)
    new["spec"] |= spec
    return new
