"""The Endpoints of a service: one object with all addresses, as older clients read it."""

from collections.abc import Iterable

from msgspec import to_builtins

from plimsoll.api.core import Service
from plimsoll.api.meta import ObjectKey
from plimsoll.api.networking import EndpointAddress, Endpoints, EndpointSubset
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.decide.cluster.endpoints.backends import (
    EndpointsReason,
    Ports,
    hostname_of,
    labels_of,
    listed_pods,
    pods_by_ports,
    target_of,
)
from plimsoll.decide.plan import NOTHING, Create, Delete, Patch, Plan, ResourceName

ENDPOINTS = ResourceName("", "v1", "endpoints")
MANAGED_BY = "endpoints.kubernetes.io/managed-by"
MANAGER = "endpoint-controller"
ADDRESS_LIMIT = 1000
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
"""Told where addresses are left out."""


def decide_endpoints(service: Service, pods: Iterable[Pod], held: Endpoints | None) -> Plan:
    """For a service that selects pods, which are `pods`; `held` is what is stored by its name."""
    listed = [
        pod
        for pod in listed_pods(pods)
        if service.spec.publish_not_ready_addresses or not pod.is_being_deleted
    ]
    groups = pods_by_ports(service, listed[:ADDRESS_LIMIT])
    subsets = tuple(_subset(service, group, ports) for ports, group in groups.items())
    content: Document = {
        "metadata": {
            "labels": labels_of(service) | {MANAGED_BY: MANAGER},
            "annotations": {OVER_CAPACITY: "truncated"} if len(listed) > ADDRESS_LIMIT else {},
        },
        "subsets": to_builtins(subsets),
    }
    if held is None:
        return _created(service, content)
    if held.subsets == subsets and held.metadata.labels == content["metadata"]["labels"]:
        return NOTHING
    return _changed(held, content)


def decide_end(key: ObjectKey, held: Endpoints | None) -> Plan:
    """For a service that is gone, or that selects no pods."""
    if held is None or held.metadata.labels.get(MANAGED_BY) != MANAGER:
        return NOTHING
    write = Delete(resource=ENDPOINTS, key=key, uid=held.uid)
    return Plan(reason=EndpointsReason.ENDED, writes=(write,))


def _subset(service: Service, pods: Iterable[Pod], ports: Ports) -> EndpointSubset:
    ready: list[EndpointAddress] = []
    others: list[EndpointAddress] = []
    for pod in pods:
        address = EndpointAddress(
            ip=pod.status.pod_ip,
            hostname=hostname_of(service, pod),
            node_name=pod.spec.node_name or None,
            target_ref=target_of(pod),
        )
        is_shown = pod.is_ready or service.spec.publish_not_ready_addresses
        (ready if is_shown else others).append(address)
    return EndpointSubset(addresses=tuple(ready), not_ready_addresses=tuple(others), ports=ports)


def _created(service: Service, content: Document) -> Plan:
    metadata = {"namespace": service.namespace, "name": service.name} | content["metadata"]
    head = {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata}
    write = Create(resource=ENDPOINTS, document=content | head)
    return Plan(reason=EndpointsReason.CHANGED, writes=(write,))


def _changed(held: Endpoints, content: Document) -> Plan:
    metadata = content["metadata"]
    gone = held.metadata.labels.keys() - metadata["labels"].keys()
    labels = dict.fromkeys(sorted(gone)) | metadata["labels"]
    annotations = {OVER_CAPACITY: None} | metadata["annotations"]
    write = Patch(
        resource=ENDPOINTS,
        key=held.key,
        patch=content | {"metadata": {"labels": labels, "annotations": annotations}},
        version=held.metadata.resource_version,
        uid=held.uid,
    )
    return Plan(reason=EndpointsReason.CHANGED, writes=(write,))
