"""CSIDriver: what a driver wants of Kubernetes; whether it attaches and for whom is fixed."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.rules import KindRules

GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
LIFECYCLE_MODES = ("Persistent", "Ephemeral")
SHORTEST_UPDATE_PERIOD_SECONDS = 10
SHORTEST_TOKEN_SECONDS = 10 * 60
LONGEST_TOKEN_SECONDS = 1 << 32
DEFAULTS: dict[str, Any] = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "requiresRepublish": False,
    "seLinuxMount": False,
    "preventPodSchedulingIfMissing": False,
}
TOKENS_ARE_LOGGED = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, "
    "set to true to prevent possible logging of tokens in volume attributes"
)


def default(driver: Document) -> None:
    spec = driver.setdefault("spec", {})
    for field, value in DEFAULTS.items():
        spec.setdefault(field, value)
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def prepare_update(new: Document, old: Document, _now: datetime) -> None:
    """The generation counts changes of the spec, from none at all when the object is made."""
    if new.get("spec") != old.get("spec"):
        generation = old.get("metadata", {}).get("generation", 0) + 1
        new.setdefault("metadata", {})["generation"] = generation


def validate(driver: Document) -> Iterator[FieldError]:
    spec = driver.get("spec") or {}
    policy = spec.get("fsGroupPolicy")
    if policy is not None and policy not in GROUP_POLICIES:
        yield FieldError.not_supported("spec.fsGroupPolicy", policy, GROUP_POLICIES)
    tokens = spec.get("tokenRequests") or []
    yield from _token_errors(tokens, "spec.tokenRequests")
    for mode in spec.get("volumeLifecycleModes") or []:
        if mode not in LIFECYCLE_MODES:
            yield FieldError.not_supported("spec.volumeLifecycleModes", mode, LIFECYCLE_MODES)
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < SHORTEST_UPDATE_PERIOD_SECONDS:
        yield FieldError.invalid(
            "spec.nodeAllocatableUpdatePeriodSeconds",
            period,
            "must be greater than or equal to 10 seconds",
        )
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not tokens:
        yield FieldError.invalid(
            "spec.serviceAccountTokenInSecrets",
            in_secrets,
            "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
        )


def _token_errors(tokens: list[Document], path: str) -> Iterator[FieldError]:
    audiences: set[str] = set()
    for index, token in enumerate(tokens):
        audience = token.get("audience", "")
        if audience in audiences:
            yield FieldError.duplicate(f"{path}[{index}].audience", audience)
            continue
        audiences.add(audience)
        seconds = token.get("expirationSeconds")
        where = f"{path}[{index}].expirationSeconds"
        if seconds is not None and seconds < SHORTEST_TOKEN_SECONDS:
            yield FieldError.invalid(
                where, seconds, "may not specify a duration less than 10 minutes"
            )
        if seconds is not None and seconds > LONGEST_TOKEN_SECONDS:
            yield FieldError.invalid(
                where, seconds, "may not specify a duration larger than 2^32 seconds"
            )


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    yield from validate(new)
    now, before = new.get("spec") or {}, old.get("spec") or {}
    if now.get("attachRequired") != before.get("attachRequired"):
        # The path is misspelt in the API itself; clients see it so.
        yield FieldError.invalid(
            "spec.attachedRequired", now.get("attachRequired"), "field is immutable"
        )
    if now.get("volumeLifecycleModes") != before.get("volumeLifecycleModes"):
        yield FieldError.invalid(
            "spec.volumeLifecycleModes", now.get("volumeLifecycleModes"), "field is immutable"
        )


def warnings(new: Document, old: Document | None) -> list[str]:
    spec = new.get("spec") or {}
    tokens = spec.get("tokenRequests")
    if not tokens or "serviceAccountTokenInSecrets" in spec:
        return []
    if old is not None and tokens == old.get("spec", {}).get("tokenRequests"):
        return []
    return [TOKENS_ARE_LOGGED]


RULES = KindRules(
    default=default,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    unconditional_update=False,
    returns_deleted=True,
)
