"""The claim that is created again: what a user wrote of it, and nothing that came of it since."""

from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.decide.annotations import (
    BETA_STORAGE_PROVISIONER,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    MIGRATED_TO,
    ROLLED_BACK,
    ROLLING_BACK,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
)
from plimsoll.decide.provisioning.holds import HOLD
from plimsoll.decide.workloads.owned import POD, STATEFUL_SET

STRIPPED = frozenset(
    {
        BIND_COMPLETED,
        BOUND_BY_CONTROLLER,
        SELECTED_NODE,
        STORAGE_PROVISIONER,
        BETA_STORAGE_PROVISIONER,
        MIGRATED_TO,
        ROLLING_BACK,
        ROLLED_BACK,
        HOLD,
    }
)
"""Annotations that belong to the binding which is taken back."""
KEPT = ("name", "namespace", "labels", "ownerReferences")
"""Of the metadata. Finalizers are left out: their owners set them again where they want them."""


def claim_manifest(claim: Document) -> Document:
    """`claim` as the server has it, with every field."""
    metadata = claim["metadata"]
    kept = {name: metadata[name] for name in KEPT if metadata.get(name)}
    annotations = {
        name: value
        for name, value in (metadata.get("annotations") or {}).items()
        if name not in STRIPPED
    }
    if annotations:
        kept["annotations"] = annotations
    spec = {name: value for name, value in claim["spec"].items() if name != "volumeName"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": kept, "spec": spec}


def is_left_to_controller(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    """Whether a controller creates the claim again by itself, for this pod or its successor."""
    owner = claim.metadata.controller
    if owner is not None and POD.owns(owner):
        return True
    controller = pod.metadata.controller
    if controller is None or not STATEFUL_SET.owns(controller):
        return False
    # A claim of a template is named after the template, as is the pod's volume, and the pod.
    return any(
        pod.claim_of(volume) == claim.key and claim.name == f"{volume.name}-{pod.name}"
        for volume in pod.spec.volumes
    )
