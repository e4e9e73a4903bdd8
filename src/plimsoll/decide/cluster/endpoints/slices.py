"""The EndpointSlices of a service.

A service that selects no pod yet has one slice, which is empty: clients that wait for it go on.
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

from msgspec import to_builtins

from plimsoll.api.core import Node, Service
from plimsoll.api.meta import ObjectMeta
from plimsoll.api.networking import EndpointConditions, EndpointSlice, SliceEndpoint
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.decide.cluster.endpoints.backends import (
    EndpointsReason,
    Ports,
    hostname_of,
    labels_of,
    listed_pods,
    pods_by_ports,
    selects_pods,
    target_of,
)
from plimsoll.decide.plan import NOTHING, Create, Delete, Patch, Plan, ResourceName, Write
from plimsoll.decide.workloads.owned import Workload, controller_reference

SLICES = ResourceName("discovery.k8s.io", "v1", "endpointslices")
SERVICE = Workload(api_version="v1", kind="Service", resource=ResourceName("", "v1", "services"))
SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
MANAGER = "endpointslice-controller.k8s.io"
"""As kube-controller-manager calls itself: either goes on with the slices of the other."""
ZONE = "topology.kubernetes.io/zone"
SLICE_SIZE = 100
SUFFIX = 5
NAME_LIMIT = 253

FindNode = Callable[[str], Node | None]


def is_ours(slice_: EndpointSlice) -> bool:
    return slice_.metadata.labels.get(MANAGED_BY) == MANAGER


def decide_slices(
    service: Service, pods: Iterable[Pod], held: Iterable[EndpointSlice], node: FindNode
) -> Plan:
    """`pods` are those that the service selects, `held` the slices of the service.

    When the service goes, the garbage collector deletes the slices.
    """
    wanted = _slices(service, listed_pods(pods), node) if selects_pods(service) else []
    known = {each.name: each for each in held if is_ours(each)}
    writes: list[Write] = []
    for each in wanted:
        before = known.pop(each.name, None)
        if before is None:
            writes.append(Create(resource=SLICES, document=_document(each)))
        elif not _says_already(before, each):
            writes.append(_patch(before, each))
    writes += [Delete(resource=SLICES, key=each.key, uid=each.uid) for each in known.values()]
    return Plan(reason=EndpointsReason.CHANGED, writes=tuple(writes)) if writes else NOTHING


def _slices(service: Service, pods: Sequence[Pod], node: FindNode) -> list[EndpointSlice]:
    """At least one; all pods of a slice have the same ports."""
    found: list[EndpointSlice] = []
    for ports, group in pods_by_ports(service, pods).items():
        endpoints = [_endpoint(service, pod, node(pod.spec.node_name)) for pod in group]
        for start in range(0, len(endpoints), SLICE_SIZE):
            part = tuple(endpoints[start : start + SLICE_SIZE])
            found.append(_slice(service, len(found), part, ports))
    return found or [_slice(service, 0, (), ())]


def _slice(
    service: Service, number: int, endpoints: tuple[SliceEndpoint, ...], ports: Ports
) -> EndpointSlice:
    digest = sha256(f"{service.uid}/{number}".encode()).hexdigest()[:SUFFIX]
    metadata = ObjectMeta(
        namespace=service.namespace,
        name=f"{service.name[: NAME_LIMIT - SUFFIX - 1]}-{digest}",
        labels=labels_of(service) | {SERVICE_NAME: service.name, MANAGED_BY: MANAGER},
        owner_references=(controller_reference(SERVICE, service),),
    )
    return EndpointSlice(metadata=metadata, address_type="IPv4", endpoints=endpoints, ports=ports)


def _endpoint(service: Service, pod: Pod, node: Node | None) -> SliceEndpoint:
    serving, terminating = pod.is_ready, pod.is_being_deleted
    anyway = service.spec.publish_not_ready_addresses
    return SliceEndpoint(
        addresses=(pod.status.pod_ip,),
        conditions=EndpointConditions(
            ready=anyway or (serving and not terminating),
            serving=serving,
            terminating=terminating,
        ),
        hostname=hostname_of(service, pod) or None,
        node_name=pod.spec.node_name or None,
        target_ref=target_of(pod),
        zone=node.metadata.labels.get(ZONE) if node is not None else None,
    )


def _says_already(before: EndpointSlice, wanted: EndpointSlice) -> bool:
    return (before.endpoints, before.ports, before.metadata.labels) == (
        wanted.endpoints,
        wanted.ports,
        wanted.metadata.labels,
    )


def _patch(before: EndpointSlice, wanted: EndpointSlice) -> Patch:
    gone = before.metadata.labels.keys() - wanted.metadata.labels.keys()
    labels = dict.fromkeys(sorted(gone)) | dict(wanted.metadata.labels)
    return Patch(
        resource=SLICES,
        key=before.key,
        patch={"metadata": {"labels": labels}} | _content(wanted),
        version=before.metadata.resource_version,
        uid=before.uid,
    )


def _content(slice_: EndpointSlice) -> Document:
    return {
        "endpoints": to_builtins(slice_.endpoints),
        "ports": to_builtins(slice_.ports),
    }


def _document(slice_: EndpointSlice) -> Document:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": to_builtins(slice_.metadata),
        "addressType": slice_.address_type,
    } | _content(slice_)
