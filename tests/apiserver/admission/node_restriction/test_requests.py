"""A kubelet writes leases, CSINodes and certificate requests of its own node alone."""

from base64 import b64encode

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from plimsoll.api.registry import Document
from tests.apiserver.admission.node_restriction.kubelets import restricted

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
CSI_NODES = "/apis/storage.k8s.io/v1/csinodes"
SIGNING = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


async def test_leases_and_csi_nodes_have_the_name_of_the_node() -> None:
    async with restricted() as cluster:
        mine, theirs = ({"metadata": {"name": name}} for name in ("node-a", "node-b"))
        await cluster.done("POST", LEASES, mine)
        await cluster.done("POST", CSI_NODES, mine | {"spec": {"drivers": []}})
        assert await cluster.refusal("POST", LEASES, theirs) == (
            "can only access node lease with the same name as the requesting node"
        )
        assert await cluster.refusal("POST", CSI_NODES, theirs | {"spec": {"drivers": []}}) == (
            "can only access CSINode with the same name as the requesting node"
        )


def request_for(user: str) -> Document:
    key = ec.generate_private_key(ec.SECP256R1())
    names = [
        x509.NameAttribute(NameOID.COMMON_NAME, user),
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
    ]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return {
        "metadata": {"generateName": "csr-"},
        "spec": {
            "request": b64encode(pem).decode(),
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["client auth"],
        },
    }


async def test_certificates_are_asked_for_in_the_name_of_the_node() -> None:
    async with restricted() as cluster:
        await cluster.done("POST", SIGNING, request_for("system:node:node-a"))
        assert await cluster.refusal("POST", SIGNING, request_for("system:node:node-b")) == (
            "can only create a node CSR with CN=system:node:node-a"
        )
