"""Tokens of service accounts: a kubelet asks for those that its pods mount, and for no others."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.attributes import AccessAttributes
from plimsoll.apiserver.access.pod_references import claim_names
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.admission.node_restriction.pods import find_pod, node_of

VERB = "request-serviceaccounts-token-audience"
"""By which a role allows audiences that no pod names."""


def against(node: str, attributes: Attributes) -> str | None:
    if attributes.operation is not Operation.CREATE or attributes.subresource != "token":
        return None
    spec = attributes.document.get("spec") or {}
    bound = spec.get("boundObjectRef") or {}
    if (bound.get("apiVersion"), bound.get("kind")) != ("v1", "Pod") or not bound.get("name"):
        return "node requested token not bound to a pod"
    uid = bound.get("uid")
    if not uid:
        return "node requested token with a pod binding without a uid"
    pod = find_pod(attributes, bound["name"])
    if uid != pod["metadata"]["uid"]:
        return (
            f"the UID in the bound object reference ({uid}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
    if node_of(pod) != node:
        return "node requested token bound to a pod scheduled on a different node"
    return _against_audience(attributes, pod, spec.get("audiences") or [])


def _against_audience(attributes: Attributes, pod: Document, asked: list[str]) -> str | None:
    if len(asked) > 1:
        return "node may only request 0 or 1 audiences"
    audience = asked[0] if asked else ""
    if audience in mounted_audiences(attributes, pod):
        return None
    right = AccessAttributes(
        verb=VERB, resource=audience, namespace=attributes.namespace, name=attributes.name
    )
    if attributes.access is not None and attributes.access.allows(attributes.requester, right):
        return None
    return (
        f'audience "{audience}" not found in pod spec volume, {attributes.user} is not authorized '
        "to request tokens for this audience"
    )


def mounted_audiences(attributes: Attributes, pod: Document) -> Iterator[str]:
    """Of the tokens that the pod mounts, and that the drivers of its volumes ask for."""
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if "serviceAccountToken" in source:
                yield source["serviceAccountToken"].get("audience") or ""
    for driver in _drivers(attributes, pod):
        found = attributes.reader.get("storage.k8s.io", "csidrivers", "", driver) or {}
        for request in (found.get("spec") or {}).get("tokenRequests") or ():
            yield request.get("audience") or ""


def _drivers(attributes: Attributes, pod: Document) -> Iterator[str]:
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if "csi" in volume:
            yield volume["csi"].get("driver", "")
    for name in claim_names(pod):
        claim = attributes.reader.get("", "persistentvolumeclaims", attributes.namespace, name)
        bound = ((claim or {}).get("spec") or {}).get("volumeName", "")
        held = attributes.reader.get("", "persistentvolumes", "", bound) if bound else None
        csi = ((held or {}).get("spec") or {}).get("csi")
        if csi:
            yield csi.get("driver", "")
