"""NodeDeclaredFeatureValidator: a pod on a node is changed only in ways that the node knows."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.model.status import forbidden

INIT_CONTAINERS = "InPlacePodVerticalScalingInitContainers"
POD_LEVEL = "InPlacePodLevelResourcesVerticalScaling"


def check(attributes: Attributes) -> None:
    old = attributes.old
    if attributes.operation is not Operation.UPDATE or attributes.subresource != "resize":
        return
    spec = attributes.document.get("spec") or {}
    if old is None or not spec.get("nodeName"):
        return
    needed = sorted(_needed(spec, old["spec"]))
    node = attributes.reader.get("", "nodes", "", spec["nodeName"]) if needed else None
    if node is None:
        return  # the next plugin says that it is missing
    known = (node.get("status") or {}).get("declaredFeatures") or ()
    missing = [name for name in needed if name not in known]
    if missing:
        why = (
            f"pod update requires features {', '.join(missing)} which are not available on node "
            f'"{spec["nodeName"]}"'
        )
        raise forbidden(attributes.resource, attributes.name, why)


def _needed(spec: Document, old: Document) -> Iterator[str]:
    pairs = zip(spec.get("initContainers") or (), old.get("initContainers") or (), strict=False)
    for new, before in pairs:
        is_sidecar = before.get("restartPolicy") == "Always"
        if not is_sidecar and new.get("resources") != before.get("resources"):
            yield INIT_CONTAINERS
            break
    if spec.get("resources") != old.get("resources"):
        yield POD_LEVEL
