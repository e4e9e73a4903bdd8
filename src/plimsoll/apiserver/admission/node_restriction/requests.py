"""Leases, CSINodes, ResourceSlices and certificates: a kubelet writes those of its own node."""

import base64
import binascii

from cryptography import x509
from cryptography.x509.oid import NameOID

from plimsoll.apiserver.admission.attributes import Attributes, Operation

LEASES = "kube-node-lease"
SIGNERS = ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet")


def against_lease(node: str, attributes: Attributes) -> str | None:
    if attributes.namespace != LEASES:
        return f'can only access leases in the "{LEASES}" system namespace'
    if attributes.name != node:
        return "can only access node lease with the same name as the requesting node"
    return None


def against_csi_node(node: str, attributes: Attributes) -> str | None:
    if attributes.name != node:
        return "can only access CSINode with the same name as the requesting node"
    return None


def against_slice(node: str, attributes: Attributes) -> str | None:
    if attributes.operation is Operation.UPDATE:
        return None
    if (attributes.document.get("spec") or {}).get("nodeName") == node:
        return None
    verb = attributes.operation.lower()
    return f"can only {verb} ResourceSlice with the same NodeName as the requesting node"


def against_signing(node: str, attributes: Attributes) -> str | None:
    spec = attributes.document.get("spec") or {}
    if attributes.operation is not Operation.CREATE or spec.get("signerName") not in SIGNERS:
        return None
    try:
        parsed = x509.load_pem_x509_csr(base64.b64decode(spec.get("request") or ""))
    except (ValueError, binascii.Error) as error:
        return f"unable to parse csr: {error}"
    named = [part.value for part in parsed.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if named == [f"system:node:{node}"]:
        return None
    return f"can only create a node CSR with CN=system:node:{node}"


def against_pod_certificate(_node: str, _attributes: Attributes) -> str | None:
    """As with kube-apiserver 1.36 by default."""
    return "PodCertificateRequest feature gate is disabled"
