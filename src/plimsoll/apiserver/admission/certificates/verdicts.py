"""CertificateApproval and CertificateSigning: who decides about requests of which signer.

Beside the right to write the subresource, a user needs the verb `approve` or `sign` for the signer:
its name, or its domain with `/*`.
"""

from plimsoll.apiserver.access.attributes import AccessAttributes
from plimsoll.apiserver.access.users import SERVER, User
from plimsoll.apiserver.admission.attributes import Attributes
from plimsoll.apiserver.model.status import forbidden

GROUP = "certificates.k8s.io"


def check_approval(attributes: Attributes) -> None:
    if attributes.subresource == "approval":
        _check(attributes, "approve")


def check_signing(attributes: Attributes) -> None:
    """Who may write the status may write all of it but certificate and conditions."""
    if attributes.subresource != "status":
        return
    new = attributes.document.get("status") or {}
    old = (attributes.old or {}).get("status") or {}
    if any(new.get(field) != old.get(field) for field in ("certificate", "conditions")):
        _check(attributes, "sign")


def _check(attributes: Attributes, verb: str) -> None:
    """By the signer that the request had before, whatever it is written to have now."""
    user = attributes.requester
    if not isinstance(user, User) or user is SERVER:
        return
    signer = ((attributes.old or {}).get("spec") or {}).get("signerName", "")
    names = (signer, f"{signer.partition('/')[0]}/*")
    if not any(attributes.access.allows(user, _asked(verb, name)) for name in names):
        why = f'user not permitted to {verb} requests with signerName "{signer}"'
        raise forbidden(attributes.resource, attributes.name, why)


def _asked(verb: str, signer: str) -> AccessAttributes:
    return AccessAttributes(verb=verb, group=GROUP, resource="signers", name=signer)
