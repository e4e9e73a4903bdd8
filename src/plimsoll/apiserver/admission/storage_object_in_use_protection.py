"""StorageObjectInUseProtection: new volumes, claims and attribute classes get a finalizer.

The protection controllers take it off once the object is not in use any more: nothing in use goes
away.
"""

from plimsoll.apiserver.admission.attributes import Attributes, Operation

FINALIZERS = {
    ("", "persistentvolumes"): "kubernetes.io/pv-protection",
    ("", "persistentvolumeclaims"): "kubernetes.io/pvc-protection",
    ("storage.k8s.io", "volumeattributesclasses"): "kubernetes.io/vac-protection",
}


def admit(attributes: Attributes) -> None:
    if attributes.operation is not Operation.CREATE or attributes.subresource:
        return
    finalizer = FINALIZERS.get((attributes.resource.group, attributes.resource.plural))
    if finalizer is None:
        return
    metadata = attributes.document["metadata"]
    present = metadata.get("finalizers") or []
    if finalizer not in present:
        metadata["finalizers"] = [*present, finalizer]
