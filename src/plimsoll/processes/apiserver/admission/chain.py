"""The admission plugins in their order: first those that change a request, then those that refuse.

Each is a plain function over Attributes; what it does not care about it lets pass.
"""

from plimsoll.processes.apiserver.admission import (
    claim_resize,
    default_class,
    default_tolerations,
    in_use_protection,
    limit_ranger,
    namespace_lifecycle,
    priority,
    resource_quota,
    runtime_class,
)
from plimsoll.processes.apiserver.admission.attributes import Attributes, Operation

MUTATING = (
    namespace_lifecycle.check,
    limit_ranger.admit,
    priority.admit,
    default_tolerations.admit,
    runtime_class.admit,
    default_class.admit,
    in_use_protection.admit,
)
VALIDATING = (
    limit_ranger.check,
    priority.check,
    runtime_class.check,
    claim_resize.check,
    resource_quota.check,
)


def admit(attributes: Attributes) -> None:
    """Before validation. Raises ApiError."""
    for plugin in MUTATING:
        plugin(attributes)


def check(attributes: Attributes) -> None:
    """After validation; all there is on deletion. Raises ApiError."""
    if attributes.operation is Operation.DELETE:
        namespace_lifecycle.check(attributes)
    for plugin in VALIDATING:
        plugin(attributes)
