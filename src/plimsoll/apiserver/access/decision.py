"""The decision of an authorizer: whether the request is allowed, and why."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessDecision:
    allowed: bool
    reason: str = ""
    """As reviews and refusals show it; often there is none."""
