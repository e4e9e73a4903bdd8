"""What one object uses up of quotas: objects of any kind, pods and what they ask of nodes, claims
and their storage.

Pure functions over documents.
"""

from plimsoll.api.quantity import UNIT, Quantity, parse_quantity
from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.quota.compute import compute_charge
from plimsoll.apiserver.model.kinds.storage.claim_spec import requested_storage
from plimsoll.apiserver.model.kinds.storage.persistent_volume_claim import claim_class

Usage = dict[str, Quantity]
"""By the name under which a quota limits it."""

ONE = Quantity(1)
BY_CLASS = ".storageclass.storage.k8s.io/"
PODS, CLAIMS, STORAGE = "pods", "persistentvolumeclaims", "requests.storage"
SERVICES, NODE_PORTS = "services", "services.nodeports"
LOAD_BALANCERS = "services.loadbalancers"
# Core kinds that can be limited without the prefix `count/`.
COUNTED = frozenset(
    {
        CLAIMS,
        "configmaps",
        PODS,
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        SERVICES,
    }
)
FINISHED = ("Failed", "Succeeded")


def charge(group: str, plural: str, document: Document) -> Usage:
    """What one object uses up, whichever quota looks at it."""
    charged = {f"count/{plural}.{group}" if group else f"count/{plural}": ONE}
    if group or plural not in COUNTED:
        return charged
    if plural == CLAIMS:
        return charged | _claim_charge(document)
    if plural == SERVICES:
        return charged | _service_charge(document.get("spec") or {})
    if plural == PODS:
        return charged | _pod_charge(document)
    return charged | {plural: ONE}


def _pod_charge(pod: Document) -> Usage:
    if (pod.get("status") or {}).get("phase") in FINISHED:
        return {}
    return {PODS: ONE} | compute_charge(pod)


def _service_charge(spec: Document) -> Usage:
    """Node ports as they are meant: they may not be allocated yet."""
    ports = spec.get("ports") or []
    match spec.get("type"):
        case "NodePort":
            return {SERVICES: ONE, NODE_PORTS: Quantity(len(ports))}
        case "LoadBalancer":
            if spec.get("allocateLoadBalancerNodePorts") is False:
                ports = [port for port in ports if port.get("nodePort")]
            return {SERVICES: ONE, LOAD_BALANCERS: ONE, NODE_PORTS: Quantity(len(ports))}
        case _:
            return {SERVICES: ONE}


def _claim_charge(claim: Document) -> Usage:
    charged = {CLAIMS: ONE}
    size = _claim_size(claim)
    if size is not None:
        charged[STORAGE] = size
    named = claim_class(claim)
    if not named:
        return charged
    return charged | {f"{named}{BY_CLASS}{what}": amount for what, amount in charged.items()}


def _claim_size(claim: Document) -> Quantity | None:
    """Whole bytes: what is requested, or what an expansion has already taken beyond that."""
    requested = requested_storage(claim.get("spec") or {})
    if requested is None:
        return None
    allocated = (claim.get("status") or {}).get("allocatedResources") or {}
    taken = parse_quantity(allocated.get("storage", "0"))
    size = max(parse_quantity(requested), taken)
    return Quantity(size.rounded_up(UNIT), UNIT, size.format)
