"""Kinds that the server stores and shows, and that no part of Plimsoll acts upon.

They get their defaults, because people see those with kubectl, and the checks of names and
metadata; their contents are taken as they are.
"""

from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from typing import Any

from plimsoll.api.names import name_is_path_segment
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.networking.addresses import (
    address_errors,
    find_address,
    load_balancer_errors,
    range_errors,
)
from plimsoll.apiserver.model.kinds.rules import (
    KindRules,
    PrepareCreate,
    ValidateUpdate,
    keep_status,
    leave,
    leave_at,
    no_update_errors,
)

SERVICE_PORT = 443
WEBHOOK_SECONDS = 10
MATCHING_PRECEDENCE = 1000
CONCURRENCY_SHARES = 30
QUEUING = {"handSize": 8, "queues": 64, "queueLengthLimit": 50}
UTILIZATION = 80
CURRENT: Document = {"currentMetrics": None}


def begin_status(document: Document, _now: datetime) -> None:
    """No client can create an object with a status: it begins empty."""
    document["status"] = {}


def begin_load_balancer(document: Document, _now: datetime) -> None:
    document["status"] = {"loadBalancer": {}}


def begin_autoscaler_status(document: Document, _now: datetime) -> None:
    """What either version shows of an autoscaler that no controller has looked at."""
    found = {"currentReplicas": 0} if document["apiVersion"] == "autoscaling/v1" else CURRENT
    document["status"] = {**found, "desiredReplicas": 0}


def _with_status(
    default: Callable[[Document], None] = leave,
    *,
    begin: PrepareCreate = begin_status,
    generation: bool = False,
    validate_status: ValidateUpdate = no_update_errors,
) -> KindRules:
    return KindRules(
        default=default,
        prepare_create=begin,
        prepare_update=keep_status,
        validate_status=validate_status,
        has_generation=generation,
    )


def _fill(fields: Document, **values: Any) -> None:
    """Absent, zero and empty are the same to these fields."""
    for name, value in values.items():
        if not fields.get(name):
            fields[name] = value


# admissionregistration.k8s.io


def default_webhooks(configuration: Document) -> None:
    for webhook in configuration.get("webhooks") or ():
        _default_match(webhook)
        webhook.setdefault("failurePolicy", "Fail")
        webhook.setdefault("timeoutSeconds", WEBHOOK_SECONDS)
        if configuration.get("kind") == "MutatingWebhookConfiguration":
            webhook.setdefault("reinvocationPolicy", "Never")
        for rule in webhook.get("rules") or ():
            rule.setdefault("scope", "*")
        service = webhook.get("clientConfig", {}).get("service")
        if service is not None:
            service.setdefault("port", SERVICE_PORT)


def _default_match(fields: Document) -> None:
    fields.setdefault("matchPolicy", "Equivalent")
    fields.setdefault("namespaceSelector", {})
    fields.setdefault("objectSelector", {})


def default_admission_policy(policy: Document) -> None:
    spec = policy.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    if "matchConstraints" in spec:
        _default_resources(spec["matchConstraints"])


def default_policy_binding(binding: Document) -> None:
    if "matchResources" in binding.get("spec", {}):
        _default_resources(binding["spec"]["matchResources"])


def _default_resources(match: Document) -> None:
    _default_match(match)
    for field in ("resourceRules", "excludeResourceRules"):
        for rule in match.get(field, ()):
            rule.setdefault("scope", "*")


# apiextensions.k8s.io, apiregistration.k8s.io


def default_api_service(service: Document) -> None:
    backend = service.get("spec", {}).get("service")
    if backend is not None:
        backend.setdefault("port", SERVICE_PORT)


def validate_api_service(service: Document) -> Iterator[FieldError]:
    spec = service.get("spec", {})
    wanted = f"{spec.get('version', '')}.{spec.get('group', '')}"
    if service["metadata"].get("name") != wanted:
        yield FieldError.invalid(
            "metadata.name",
            service["metadata"].get("name"),
            f'must be `spec.version+"."+spec.group`: "{wanted}"',
        )


# autoscaling


def default_autoscaler(autoscaler: Document) -> None:
    spec = autoscaler.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    if autoscaler.get("apiVersion") == "autoscaling/v2" and not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": UTILIZATION}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


# networking.k8s.io


def default_network_policy(policy: Document) -> None:
    spec = policy.setdefault("spec", {})
    _fill(spec, policyTypes=["Ingress", "Egress"] if spec.get("egress") else ["Ingress"])
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")


def default_ingress_class(ingress_class: Document) -> None:
    parameters = ingress_class.get("spec", {}).get("parameters")
    if parameters is not None:
        parameters.setdefault("scope", "Cluster")


def name_is_address(name: str, _prefix: bool) -> list[str]:  # noqa: FBT001  (contract of KindRules)
    """An IPAddress object is named after its address, in the one usual way to write it."""
    errors = [error.detail for error in address_errors(name, "")]
    usual = str(find_address(name))
    return errors or ([] if name == usual else [f'must be in canonical form ("{usual}")'])


def network_policy_errors(policy: Document) -> Iterator[FieldError]:
    yield from _blocks(policy, ())


def network_policy_update_errors(new: Document, old: Document) -> Iterator[FieldError]:
    yield from _blocks(new, [text for _, text in _cidrs(old)])


def _blocks(policy: Document, known: Collection[str]) -> Iterator[FieldError]:
    for path, text in _cidrs(policy):
        yield from range_errors(text, path, known)


def _cidrs(policy: Document) -> Iterator[tuple[str, str]]:
    """The ranges of addresses that the policy names, and where it does."""
    spec = policy.get("spec") or {}
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for i, rule in enumerate(spec.get(direction) or ()):
            for j, peer in enumerate(rule.get(peers) or ()):
                block, path = peer.get("ipBlock"), f"spec.{direction}[{i}].{peers}[{j}].ipBlock"
                if block is not None:
                    yield f"{path}.cidr", block.get("cidr", "")
                    for k, text in enumerate(block.get("except") or ()):
                        yield f"{path}.except[{k}]", text


# flowcontrol.apiserver.k8s.io


def default_flow_schema(schema: Document) -> None:
    _fill(schema.setdefault("spec", {}), matchingPrecedence=MATCHING_PRECEDENCE)


def default_priority_level(level: Document) -> None:
    spec = level.setdefault("spec", {})
    if "exempt" in spec:
        spec["exempt"].setdefault("nominalConcurrencyShares", 0)
        spec["exempt"].setdefault("lendablePercent", 0)
    if "limited" in spec:
        spec["limited"].setdefault("nominalConcurrencyShares", CONCURRENCY_SHARES)
        spec["limited"].setdefault("lendablePercent", 0)
        queuing = spec["limited"].get("limitResponse", {}).get("queuing")
        if queuing is not None:
            _fill(queuing, **QUEUING)


# resource.k8s.io


def default_device_claim(claim: Document) -> None:
    _default_requests(claim.get("spec", {}))


def default_device_claim_template(template: Document) -> None:
    _default_requests(template.get("spec", {}).get("spec", {}))


def _default_requests(spec: Document) -> None:
    for request in spec.get("devices", {}).get("requests") or ():
        for choice in (request.get("exactly"), *(request.get("firstAvailable") or ())):
            if choice is None:
                continue
            _fill(choice, allocationMode="ExactCount")
            if choice["allocationMode"] == "ExactCount":
                _fill(choice, count=1)


def slice_fields(resource_slice: Document) -> dict[str, str]:
    spec = resource_slice.get("spec", {})
    return {f"spec.{field}": spec.get(field, "") for field in ("nodeName", "driver")}


def _policy(default: Callable[[Document], None], begin: PrepareCreate = leave_at) -> KindRules:
    """Objects of admission, of which most have no status."""
    return KindRules(
        default=default,
        prepare_create=begin,
        prepare_update=keep_status,
        has_generation=True,
        unconditional_update=False,
        plain_finalizers=True,
    )


ADMISSION = "admissionregistration.k8s.io"
NETWORKING = "networking.k8s.io"
FLOW_CONTROL = "flowcontrol.apiserver.k8s.io"
DEVICES = "resource.k8s.io"

RULES_BY_KIND: dict[tuple[str, str], KindRules] = {
    (ADMISSION, "MutatingAdmissionPolicy"): _policy(default_admission_policy),
    (ADMISSION, "MutatingAdmissionPolicyBinding"): _policy(default_policy_binding),
    (ADMISSION, "MutatingWebhookConfiguration"): _policy(default_webhooks),
    (ADMISSION, "ValidatingAdmissionPolicy"): _policy(default_admission_policy, begin_status),
    (ADMISSION, "ValidatingAdmissionPolicyBinding"): _policy(default_policy_binding),
    (ADMISSION, "ValidatingWebhookConfiguration"): _policy(default_webhooks),
    ("apiregistration.k8s.io", "APIService"): KindRules(
        default=default_api_service,
        prepare_create=begin_status,
        prepare_update=keep_status,
        validate=validate_api_service,
        name_errors=name_is_path_segment,
        unconditional_update=False,
        plain_finalizers=True,
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): _with_status(
        default_autoscaler, begin=begin_autoscaler_status
    ),
    (NETWORKING, "IPAddress"): KindRules(name_errors=name_is_address),
    (NETWORKING, "Ingress"): _with_status(
        begin=begin_load_balancer, generation=True, validate_status=load_balancer_errors
    ),
    (NETWORKING, "IngressClass"): KindRules(default=default_ingress_class, has_generation=True),
    (NETWORKING, "NetworkPolicy"): KindRules(
        default=default_network_policy,
        validate=network_policy_errors,
        validate_update=network_policy_update_errors,
        has_generation=True,
    ),
    (NETWORKING, "ServiceCIDR"): _with_status(),
    (FLOW_CONTROL, "FlowSchema"): _with_status(default_flow_schema, generation=True),
    (FLOW_CONTROL, "PriorityLevelConfiguration"): _with_status(
        default_priority_level, generation=True
    ),
    (DEVICES, "DeviceClass"): KindRules(has_generation=True, returns_deleted=True),
    (DEVICES, "ResourceClaim"): KindRules(
        default=default_device_claim,
        prepare_create=begin_status,
        prepare_update=keep_status,
        returns_deleted=True,
    ),
    (DEVICES, "ResourceClaimTemplate"): KindRules(
        default=default_device_claim_template, returns_deleted=True
    ),
    (DEVICES, "ResourceSlice"): KindRules(
        selectable_fields=slice_fields,
        has_generation=True,
        returns_deleted=True,
    ),
}
"""By (group, kind)."""
