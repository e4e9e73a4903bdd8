"""From a template to a pod; and short names for templates, the same for the same template.

A name for a template is a hash of what it says. It is computed from the sorted JSON as Go writes
it, so that revisions made by kube-controller-manager and by us have the same names.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import msgspec

from plimsoll.api.meta import OwnerReference
from plimsoll.api.registry import Document
from plimsoll.decide.workloads.owned import reference_document

GENERATED_LIMIT = 58
"""What the server keeps of a generateName; five characters follow."""
FNV_OFFSET, FNV_PRIME, FNV_MASK = 2166136261, 16777619, 0xFFFFFFFF
# No vowels: a hash should not spell a word.
HASH_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
GO_ESCAPES = {
    b"<": b"\\u003c",
    b">": b"\\u003e",
    b"&": b"\\u0026",
    "\u2028".encode(): b"\\u2028",
    "\u2029".encode(): b"\\u2029",
}

Template = Mapping[str, Any]


def pod_from_template(template: Template, namespace: str, owner: OwnerReference) -> Document:
    """Without a name; its labels, annotations and finalizers may be changed by the caller."""
    given = template.get("metadata") or {}
    metadata: Document = {
        "namespace": namespace,
        "labels": dict(given.get("labels") or {}),
        "annotations": dict(given.get("annotations") or {}),
        "ownerReferences": [reference_document(owner)],
    }
    if given.get("finalizers"):
        metadata["finalizers"] = list(given["finalizers"])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": deepcopy(dict(template.get("spec") or {})),
    }


def named(pod: Document, prefix: str, suffix: str) -> Document:
    """The pod under a name as the server would generate it from the prefix."""
    name = prefix[:GENERATED_LIMIT] + suffix
    return pod | {"metadata": pod["metadata"] | {"generateName": prefix, "name": name}}


def labels_of(template: Template) -> dict[str, str]:
    return dict((template.get("metadata") or {}).get("labels") or {})


def go_json(document: Template) -> bytes:
    """Sorted, compact, with the escapes that Go's encoder makes."""
    text = msgspec.json.encode(document, order="sorted")
    for character, escape in GO_ESCAPES.items():
        text = text.replace(character, escape)
    return text


def data_hash(data: Template, collisions: int) -> str:
    """The name of a revision's data; another one for each collision that was met."""
    value = FNV_OFFSET
    for byte in go_json(data) + str(collisions).encode():
        value = (value * FNV_PRIME & FNV_MASK) ^ byte
    return _spelled(value)


def template_hash(template: Template, collisions: int | None) -> str:
    """The value of a ReplicaSet's pod-template-hash label."""
    value = FNV_OFFSET
    suffix = b"" if collisions is None else collisions.to_bytes(8, "little")
    for byte in go_json(normal(template)) + suffix:
        value = ((value ^ byte) * FNV_PRIME) & FNV_MASK
    return _spelled(value)


def _spelled(value: int) -> str:
    return "".join(HASH_ALPHABET[ord(digit) % len(HASH_ALPHABET)] for digit in str(value))


def normal(value: Any) -> Any:
    """Without nulls, which say nothing. Something empty may say a lot: that all are meant."""
    if isinstance(value, Mapping):
        return {name: normal(field) for name, field in value.items() if field is not None}
    if isinstance(value, list | tuple):
        return [normal(item) for item in value]
    return value
