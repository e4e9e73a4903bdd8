"""The spec of a job, in a Job or as a template in a CronJob."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.spec import template_errors
from plimsoll.apiserver.model.kinds.pods.values import dns_subdomain, one_of, qualified_name
from plimsoll.apiserver.model.kinds.workloads.replicated import count_errors

COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
COMPLETION_MODES = ("NonIndexed", "Indexed")
REPLACEMENT_POLICIES = ("Failed", "TerminatingOrFailed")
FAILURE_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
CONDITION_STATUSES = ("False", "True", "Unknown")
MANAGER_LIMIT = 63
RULES_LIMIT = PATTERNS_LIMIT = 20
EXIT_CODES_LIMIT = 255
INDEXES_LIMIT = 100_000
"""Of parallelism, of failed indexes, and of completions before stricter limits hold."""
INDEXES_LIMIT_OF_LARGE_JOBS = 10_000


def job_spec_errors(spec: Document, path: str) -> Iterator[FieldError]:
    """Everything but the selector."""
    yield from count_errors(spec, COUNTS, path)
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        yield FieldError.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is set")
    if "managedBy" in spec:
        yield from _manager_errors(spec["managedBy"], f"{path}.managedBy")
    mode = spec.get("completionMode", "NonIndexed")
    yield from one_of(mode, f"{path}.completionMode", COMPLETION_MODES)
    if mode == "Indexed":
        yield from _indexed_errors(spec, path)
    elif mode == "NonIndexed":
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if name in spec:
                yield FieldError.invalid(
                    f"{path}.{name}", spec[name], "requires indexed completion mode"
                )
    yield from _policy_errors(spec, path, mode)
    yield from template_errors(spec.get("template") or {}, f"{path}.template")
    yield from _restart_errors(spec, f"{path}.template.spec.restartPolicy")


def _manager_errors(manager: str, path: str) -> Iterator[FieldError]:
    domain, slash, rest = manager.partition("/")
    if not manager:
        yield FieldError.required(path)
    elif not slash or not domain or not rest:
        yield FieldError.invalid(path, manager, 'must be a domain-prefixed path ("acme.io/foo")')
    else:
        yield from dns_subdomain(domain, path)
    if len(manager) > MANAGER_LIMIT:
        yield FieldError.too_long(path, MANAGER_LIMIT)


def _indexed_errors(spec: Document, path: str) -> Iterator[FieldError]:
    completions, failed = spec.get("completions"), spec.get("maxFailedIndexes")
    if completions is None:
        yield FieldError.required(f"{path}.completions", "when completion mode is Indexed")
    is_large = (completions or 0) > INDEXES_LIMIT and "backoffLimitPerIndex" in spec
    if is_large and failed is None:
        yield FieldError.required(f"{path}.maxFailedIndexes", "must be specified for so many pods")
    if failed is not None and completions is not None and failed > completions:
        yield FieldError.invalid(
            f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions"
        )
    limits = (INDEXES_LIMIT, INDEXES_LIMIT_OF_LARGE_JOBS) if is_large else (INDEXES_LIMIT,)
    for name in ("parallelism", "maxFailedIndexes"):
        for limit in limits:
            if spec.get(name, 0) > limit:
                yield FieldError.invalid(
                    f"{path}.{name}", spec[name], f"must be less than or equal to {limit}"
                )


def _policy_errors(spec: Document, path: str, mode: str) -> Iterator[FieldError]:
    if "podFailurePolicy" in spec:
        yield from _failure_policy_errors(spec, f"{path}.podFailurePolicy")
    if "successPolicy" in spec:
        where = f"{path}.successPolicy"
        rules = spec["successPolicy"].get("rules") or []
        if mode != "Indexed":
            yield FieldError.invalid(
                where, spec["successPolicy"], "requires indexed completion mode"
            )
        elif not rules:
            yield FieldError.required(f"{where}.rules", "at least one rule must be specified")
        elif len(rules) > RULES_LIMIT:
            yield FieldError.too_many(f"{where}.rules", len(rules), RULES_LIMIT)
    allowed = ("Failed",) if "podFailurePolicy" in spec else REPLACEMENT_POLICIES
    if "podReplacementPolicy" in spec:
        where = f"{path}.podReplacementPolicy"
        yield from one_of(spec["podReplacementPolicy"], where, allowed)


def _failure_policy_errors(spec: Document, path: str) -> Iterator[FieldError]:
    rules = spec["podFailurePolicy"].get("rules") or []
    pod = (spec.get("template") or {}).get("spec") or {}
    names = {
        container.get("name", "")
        for kind in ("containers", "initContainers")
        for container in pod.get(kind) or []
    }
    if len(rules) > RULES_LIMIT:
        yield FieldError.too_many(f"{path}.rules", len(rules), RULES_LIMIT)
    for index, rule in enumerate(rules):
        where = f"{path}.rules[{index}]"
        yield from _action_errors(rule, spec, f"{where}.action")
        codes, patterns = rule.get("onExitCodes"), rule.get("onPodConditions") or []
        if codes is not None:
            yield from _exit_code_errors(codes, f"{where}.onExitCodes", names)
        yield from _pattern_errors(patterns, f"{where}.onPodConditions")
        if (codes is not None) == bool(patterns):
            yield FieldError.invalid(
                where, None, "specify exactly one of OnExitCodes and OnPodConditions"
            )


def _action_errors(rule: Document, spec: Document, path: str) -> Iterator[FieldError]:
    action = rule.get("action", "")
    if not action:
        yield FieldError.required(path)
    elif action == "FailIndex" and "backoffLimitPerIndex" not in spec:
        yield FieldError.invalid(path, action, "requires the backoffLimitPerIndex to be set")
    else:
        yield from one_of(action, path, FAILURE_ACTIONS)


def _pattern_errors(patterns: list[Document], path: str) -> Iterator[FieldError]:
    if len(patterns) > PATTERNS_LIMIT:
        yield FieldError.too_many(path, len(patterns), PATTERNS_LIMIT)
    for index, pattern in enumerate(patterns):
        yield from qualified_name(pattern.get("type", ""), f"{path}[{index}].type")
        yield from one_of(pattern.get("status", ""), f"{path}[{index}].status", CONDITION_STATUSES)


def _exit_code_errors(codes: Document, path: str, names: set[str]) -> Iterator[FieldError]:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    if not operator:
        yield FieldError.required(f"{path}.operator")
    else:
        yield from one_of(operator, f"{path}.operator", ("In", "NotIn"))
    if codes.get("containerName", next(iter(names), None)) not in names and names:
        yield FieldError.invalid(
            f"{path}.containerName", codes["containerName"], "must be a container of the template"
        )
    if not values:
        yield FieldError.invalid(f"{path}.values", values, "at least one value is required")
    if len(values) > EXIT_CODES_LIMIT:
        yield FieldError.too_many(f"{path}.values", len(values), EXIT_CODES_LIMIT)
    seen: set[int] = set()
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            yield FieldError.invalid(f"{path}.values[{index}]", 0, "must not be 0 for In")
        if value in seen:
            yield FieldError.duplicate(f"{path}.values[{index}]", value)
        seen.add(value)
    if values != sorted(values):
        yield FieldError.invalid(f"{path}.values", values, "must be ordered")


def _restart_errors(spec: Document, path: str) -> Iterator[FieldError]:
    """A pod that always restarts never finishes."""
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    if policy in ("", "Always"):
        yield FieldError.required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield FieldError.not_supported(path, policy, ("OnFailure", "Never"))
    elif "podFailurePolicy" in spec and policy != "Never":
        yield FieldError.invalid(path, policy, 'only "Never" is supported with podFailurePolicy')
