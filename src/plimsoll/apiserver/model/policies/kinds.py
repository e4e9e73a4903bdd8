"""What a ValidatingAdmissionPolicy and its binding may say; expressions are compiled for that."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from plimsoll.api.names import (
    dns_subdomain_errors,
    name_is_dns_subdomain,
    name_is_path_segment,
    qualified_name_errors,
)
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.cel.parsing import RESERVED
from plimsoll.apiserver.model.custom.cel.program import CompilationError, Program
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.plain_kinds import RULES_BY_KIND
from plimsoll.apiserver.model.kinds.selectors import label_selector_errors
from plimsoll.apiserver.model.policies.compiled import PolicyCompiler
from plimsoll.apiserver.model.policies.matching_rules import match_errors

GROUP = "admissionregistration.k8s.io"
POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
FAILURE_POLICIES = ("Fail", "Ignore")
REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
ACTIONS = ("Audit", "Deny", "Warn")
NOT_FOUND_ACTIONS = ("Deny", "Allow")
MOST_CONDITIONS = 64
MOST_ANNOTATIONS = 20
LONGEST_VALUE = 5 * 1024
NOTHING_TO_DO = "validations or auditAnnotations must contain at least one item"
EXCLUSIVE = "name and selector are mutually exclusive"
DENY_AND_WARN = (
    "must not contain both Deny and Warn (repeating the same validation failure information in "
    "the API response and headers serves no purpose)"
)
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_REFUSED = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_WORDS = RESERVED | {"true", "false", "null", "in"}


def policy_errors(policy: Document) -> Iterator[FieldError]:
    spec = policy.get("spec") or {}
    failure = spec.get("failurePolicy", "Fail")
    if failure not in FAILURE_POLICIES:
        yield FieldError.not_supported("spec.failurePolicy", failure, FAILURE_POLICIES)
    if spec.get("paramKind") is not None:
        yield from _param_kind_errors(spec["paramKind"], "spec.paramKind")
    match = spec.get("matchConstraints")
    if match is None:
        yield FieldError.required("spec.matchConstraints")
    else:
        yield from match_errors(match, "spec.matchConstraints")
        if not match.get("resourceRules"):
            yield FieldError.required("spec.matchConstraints.resourceRules")
    compiler = PolicyCompiler(spec)
    yield from condition_errors(spec.get("matchConditions") or [], compiler)
    for index, variable in enumerate(spec.get("variables") or ()):
        yield from _variable_errors(variable, compiler, f"spec.variables[{index}]")
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        yield FieldError.required("spec.validations", NOTHING_TO_DO)
        yield FieldError.required("spec.auditAnnotations", NOTHING_TO_DO)
    for index, validation in enumerate(validations):
        yield from _validation_errors(validation, compiler, f"spec.validations[{index}]")
    yield from _annotations_errors(policy, annotations, compiler)


def _param_kind_errors(kind: Document, path: str) -> Iterator[FieldError]:
    given = kind.get("apiVersion", "")
    group, _, version = given.rpartition("/")
    if not given:
        yield FieldError.required(f"{path}.apiVersion")
    elif given.count("/") > 1:
        said = f"unexpected GroupVersion string: {given}"
        yield FieldError.invalid(f"{path}.apiVersion", given, said)
    else:
        for error in dns_subdomain_errors(group) if group else ():
            yield FieldError.invalid(f"{path}.apiVersion", group, error)
        if not version:
            yield FieldError.invalid(f"{path}.apiVersion", given, "version must be specified")
        elif not _LABEL.fullmatch(version):
            yield FieldError.invalid(f"{path}.apiVersion", version, _LABEL_REFUSED)
    name = kind.get("kind", "")
    if not name:
        yield FieldError.required(f"{path}.kind")
    elif not _LABEL.fullmatch(name.lower()):
        said = f"may have mixed case, but should otherwise match: {_LABEL_REFUSED}"
        yield FieldError.invalid(f"{path}.kind", name, said)


def condition_errors(
    conditions: list[Document], compiler: PolicyCompiler, path: str = "spec.matchConditions"
) -> Iterator[FieldError]:
    """Of a policy, or of a webhook."""
    if len(conditions) > MOST_CONDITIONS:
        yield FieldError.too_many(path, len(conditions), MOST_CONDITIONS)
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        where = f"{path}[{index}]"
        text, name = condition.get("expression", "").strip(), condition.get("name", "")
        if not text:
            yield FieldError.required(f"{where}.expression")
        else:
            yield from _compile_errors(compiler.condition, text, f"{where}.expression")
        if not name:
            yield FieldError.required(f"{where}.name")
            continue
        for error in qualified_name_errors(name):
            yield FieldError.invalid(f"{where}.name", name, error)
        if name in names:
            yield FieldError.duplicate(f"{where}.name", name)
        names.add(name)


def _compile_errors(
    compile_: Callable[[str], Program], text: str, path: str
) -> Iterator[FieldError]:
    try:
        compile_(text)
    except CompilationError as error:
        yield FieldError.invalid(path, text, str(error))


def _variable_errors(
    variable: Document, compiler: PolicyCompiler, path: str
) -> Iterator[FieldError]:
    name, text = variable.get("name", ""), variable.get("expression", "")
    if not name.strip():
        yield FieldError.required(f"{path}.name", "name is not specified")
    elif not _IDENTIFIER.fullmatch(name) or name in _WORDS:
        yield FieldError.invalid(f"{path}.name", name, "must be a valid CEL identifier")
    if not text.strip():
        yield FieldError.required(f"{path}.expression", "expression is not specified")
        return
    found = list(
        _compile_errors(lambda each: compiler.variable(name, each), text, f"{path}.expression")
    )
    if found:
        compiler.unknown(name)
    yield from found


def _validation_errors(
    validation: Document, compiler: PolicyCompiler, path: str
) -> Iterator[FieldError]:
    text = validation.get("expression", "")
    if not text.strip():
        yield FieldError.required(f"{path}.expression", "expression is not specified")
    else:
        yield from _compile_errors(compiler.validation, text, f"{path}.expression")
    made = validation.get("messageExpression", "")
    if made and not made.strip():
        said = "must be non-empty if specified"
        yield FieldError.invalid(f"{path}.messageExpression", made, said)
    elif made:
        yield from _compile_errors(compiler.message, made, f"{path}.messageExpression")
    message = validation.get("message", "")
    if message and not message.strip():
        yield FieldError.invalid(f"{path}.message", message, "must be non-empty if specified")
    elif re.search(r"[\n\r]", message.strip()):
        yield FieldError.invalid(f"{path}.message", message, "must not contain line breaks")
    reason = validation.get("reason")
    if reason is not None and reason not in REASONS:
        yield FieldError.not_supported(f"{path}.reason", reason, REASONS)


def _annotations_errors(
    policy: Document, annotations: list[Document], compiler: PolicyCompiler
) -> Iterator[FieldError]:
    path, name = "spec.auditAnnotations", policy["metadata"].get("name", "")
    if len(annotations) > MOST_ANNOTATIONS:
        said = f"must not have more than {MOST_ANNOTATIONS} auditAnnotations"
        yield FieldError.invalid(path, annotations, said)
    keys: set[str] = set()
    for index, annotation in enumerate(annotations):
        where, key = f"{path}[{index}]", annotation.get("key", "")
        if name:
            for error in qualified_name_errors(f"{name}/{key}"):
                yield FieldError.invalid(f"{where}.key", f"{name}/{key}", error)
        else:
            yield FieldError.invalid(f"{where}.key", key, "requires metadata.name be non-empty")
        text, place = annotation.get("valueExpression", "").strip(), f"{where}.valueExpression"
        if not text:
            yield FieldError.required(place, "valueExpression is not specified")
        elif len(text) > LONGEST_VALUE:
            yield FieldError.required(place, f"must not exceed {LONGEST_VALUE} bytes in length")
        else:
            yield from _compile_errors(compiler.annotation, text, place)
        if key in keys:
            yield FieldError.duplicate(f"{where}.key", key)
        keys.add(key)


def binding_errors(binding: Document) -> Iterator[FieldError]:
    spec = binding.get("spec") or {}
    policy = spec.get("policyName", "")
    if not policy:
        yield FieldError.required("spec.policyName")
    else:
        for error in name_is_dns_subdomain(policy, False):
            yield FieldError.invalid("spec.policyName", policy, error)
    if spec.get("paramRef") is not None:
        yield from _param_errors(spec["paramRef"], "spec.paramRef")
    if spec.get("matchResources") is not None:
        yield from match_errors(spec["matchResources"], "spec.matchResources")
    yield from _action_errors(spec.get("validationActions") or [], "spec.validationActions")


def _action_errors(actions: list[str], path: str) -> Iterator[FieldError]:
    for index, action in enumerate(actions):
        if action not in ACTIONS:
            yield FieldError.not_supported(f"{path}[{index}]", action, ACTIONS)
        if action in actions[:index]:
            yield FieldError.duplicate(f"{path}[{index}]", action)
    if "Deny" in actions and "Warn" in actions:
        yield FieldError.invalid(path, actions, DENY_AND_WARN)
    if not actions:
        yield FieldError.required(path, "at least one validation action is required")


def _param_errors(reference: Document, path: str) -> Iterator[FieldError]:
    name, selector = reference.get("name", ""), reference.get("selector")
    for error in name_is_path_segment(name, False) if name else ():
        yield FieldError.invalid(f"{path}.name", name, error)
    if name and selector is not None:
        yield FieldError.forbidden(f"{path}.name", EXCLUSIVE)
    if selector is not None:
        yield from label_selector_errors(selector, f"{path}.selector")
    if name and selector is not None:
        yield FieldError.forbidden(f"{path}.selector", EXCLUSIVE)
    if not name and selector is None:
        yield FieldError.required(path, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    if not action:
        yield FieldError.required(f"{path}.parameterNotFoundAction")
    elif action not in NOT_FOUND_ACTIONS:
        yield FieldError.not_supported(f"{path}.parameterNotFoundAction", action, NOT_FOUND_ACTIONS)


def _policy_update(new: Document, _old: Document) -> Iterator[FieldError]:
    yield from policy_errors(new)


def _binding_update(new: Document, _old: Document) -> Iterator[FieldError]:
    yield from binding_errors(new)


RULES = {
    (GROUP, POLICY): replace(
        RULES_BY_KIND[GROUP, POLICY], validate=policy_errors, validate_update=_policy_update
    ),
    (GROUP, BINDING): replace(
        RULES_BY_KIND[GROUP, BINDING], validate=binding_errors, validate_update=_binding_update
    ),
}
"""By (group, kind)."""
