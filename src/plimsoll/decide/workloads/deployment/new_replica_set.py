"""The ReplicaSet that a Deployment makes for its template, and how it is found again."""

from collections.abc import Mapping
from copy import deepcopy

from plimsoll.api.registry import Document
from plimsoll.api.workloads import Deployment, ReplicaSet, Template
from plimsoll.decide.workloads.deployment.rollout import (
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    REVISION,
    REVISION_HISTORY,
)
from plimsoll.decide.workloads.owned import DEPLOYMENT, controller_reference, reference_document
from plimsoll.decide.workloads.pod_template import labels_of, normal

HASH_LABEL = "pod-template-hash"
NOT_COPIED = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        REVISION,
        REVISION_HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
    }
)
HISTORY_CHARACTERS = 2000


def is_same_template(one: Template, other: Template) -> bool:
    """But for the label that tells ReplicaSets apart."""
    return bool(_unmarked(one) == _unmarked(other))


def _unmarked(template: Template) -> Document:
    metadata = dict(template.get("metadata") or {})
    metadata["labels"] = {k: v for k, v in labels_of(template).items() if k != HASH_LABEL}
    unmarked: Document = normal(dict(template) | {"metadata": metadata})
    return unmarked


def revision_of(set_: ReplicaSet) -> int:
    text = set_.annotations.get(REVISION, "")
    return int(text) if text.removeprefix("-").isdecimal() else 0


def set_annotations(
    deployment: Deployment, known: Mapping[str, str], revision: int
) -> dict[str, str]:
    """The Deployment's own, and the number of the revision, which only grows."""
    own = deployment.annotations.items()
    annotations = dict(known) | {k: v for k, v in own if k not in NOT_COPIED}
    before = annotations.get(REVISION, "")
    if before and not before.isdecimal():
        return annotations
    if int(before or "0") < revision:
        annotations[REVISION] = str(revision)
        if before:
            history = annotations.get(REVISION_HISTORY, "")
            annotations[REVISION_HISTORY] = _longer_history(history, before)
    return annotations


def set_document(
    deployment: Deployment, name: str, hash_: str, annotations: Mapping[str, str]
) -> Document:
    """Without any pods as yet."""
    template = deepcopy(dict(deployment.spec.template))
    labels = labels_of(template) | {HASH_LABEL: hash_}
    template["metadata"] = dict(template.get("metadata") or {}) | {"labels": labels}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "namespace": deployment.namespace,
            "name": name,
            "labels": labels,
            "annotations": dict(annotations),
            "ownerReferences": [reference_document(controller_reference(DEPLOYMENT, deployment))],
        },
        "spec": {
            "replicas": 0,
            "minReadySeconds": deployment.spec.min_ready_seconds,
            "selector": _selector_document(deployment, hash_),
            "template": template,
        },
    }


def _longer_history(history: str, revision: str) -> str:
    """Beyond the limit the oldest numbers are dropped."""
    numbers = [*filter(None, history.split(",")), revision]
    while len(numbers) > 1 and len(",".join(numbers)) > HISTORY_CHARACTERS:
        numbers.pop(0)
    return ",".join(numbers)


def _selector_document(deployment: Deployment, hash_: str) -> Document:
    selector = deployment.spec.selector
    labels = dict(selector.match_labels if selector else {})
    document: Document = {"matchLabels": labels | {HASH_LABEL: hash_}}
    if selector and selector.match_expressions:
        document["matchExpressions"] = [
            {"key": e.key, "operator": e.operator}
            | ({"values": list(e.values)} if e.values else {})
            for e in selector.match_expressions
        ]
    return document
