"""The admission plugins in their order: first those that change a request, then those that refuse.

Each is a plain function over Attributes; what it does not care about it lets pass.
"""

from plimsoll.processes.apiserver.admission import (
    claim_resize,
    default_class,
    in_use_protection,
    limit_ranger,
    namespace_lifecycle,
    resource_quota,
)
from plimsoll.processes.apiserver.admission.attributes import Attributes

EARLY = (namespace_lifecycle.check,)
MUTATING = (
    limit_ranger.admit,
    default_class.admit,
    in_use_protection.admit,
)
VALIDATING = (
    limit_ranger.check,
    claim_resize.check,
    resource_quota.check,
)


def admit(attributes: Attributes) -> None:
    """Before validation. Raises ApiError."""
    for plugin in (*EARLY, *MUTATING):
        plugin(attributes)


def check(attributes: Attributes) -> None:
    """After validation; all there is on deletion. Raises ApiError."""
    if attributes.operation == "DELETE":
        namespace_lifecycle.check(attributes)
    for plugin in VALIDATING:
        plugin(attributes)
