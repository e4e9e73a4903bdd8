"""CertificateSubjectRestriction: no user asks for a certificate of the group of administrators."""

import base64
import binascii

from cryptography import x509
from cryptography.x509.oid import NameOID

from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.model.status import forbidden

SIGNER = "kubernetes.io/kube-apiserver-client"
ADMINISTRATORS = "system:masters"


def check(attributes: Attributes) -> None:
    spec = attributes.document.get("spec") or {}
    if attributes.operation is not Operation.CREATE or attributes.subresource:
        return
    if spec.get("signerName") != SIGNER:
        return
    try:
        groups = _organizations(spec.get("request") or "")
    except (ValueError, binascii.Error) as error:
        why = f"failed to parse CSR: {error}"
        raise forbidden(attributes.resource, attributes.name, why) from error
    if ADMINISTRATORS in groups:
        why = f"use of {SIGNER} signer with {ADMINISTRATORS} group is not allowed"
        raise forbidden(attributes.resource, attributes.name, why)


def _organizations(request: str) -> list[str]:
    """Raises ValueError."""
    parsed = x509.load_pem_x509_csr(base64.b64decode(request))
    named = parsed.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return [str(attribute.value) for attribute in named]
