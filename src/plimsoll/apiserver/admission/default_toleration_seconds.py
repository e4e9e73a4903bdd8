"""DefaultTolerationSeconds: pods outlive a node that is away for five minutes."""

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation

TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
SECONDS = 300


def admit(attributes: Attributes) -> None:
    resource = attributes.resource
    if (resource.group, resource.plural) != ("", "pods") or attributes.subresource:
        return
    if attributes.operation is Operation.DELETE:
        return
    spec = attributes.document["spec"]
    given = spec.get("tolerations") or []
    missing = [key for key in TAINTS if not any(_tolerates(t, key) for t in given)]
    if missing:
        spec["tolerations"] = [*given, *map(_toleration, missing)]


def _tolerates(toleration: Document, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in (
        "",
        "NoExecute",
    )


def _toleration(key: str) -> Document:
    return {
        "key": key,
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": SECONDS,
    }
