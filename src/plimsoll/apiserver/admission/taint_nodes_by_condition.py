"""TaintNodesByCondition: a new node takes no pods before a controller has found it ready.

Otherwise pods could be scheduled to it before the controller that taints nodes by their conditions
has seen it. That controller (`node-lifecycle`) takes the taint away.
"""

from plimsoll.apiserver.admission.attributes import Attributes, Operation

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def admit(attributes: Attributes) -> None:
    resource = attributes.resource
    is_node = (resource.group, resource.plural) == ("", "nodes") and not attributes.subresource
    if not is_node or attributes.operation is not Operation.CREATE:
        return
    spec = attributes.document.setdefault("spec", {})
    taints = spec.get("taints") or []
    if not any(NOT_READY.items() <= taint.items() for taint in taints):
        spec["taints"] = [*taints, dict(NOT_READY)]
