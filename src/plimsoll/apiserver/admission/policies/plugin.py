"""ValidatingAdmissionPolicy: every policy that is bound, asked about every write that it matches.

All are asked before one refuses, so that warnings and annotations are complete. The refusal tells
the first denial, in the order of the policies' names and of their bindings' names.
"""

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.users import SERVER
from plimsoll.apiserver.admission.attributes import Attributes
from plimsoll.apiserver.admission.policies.evaluation import PolicyDenial, evaluated
from plimsoll.apiserver.admission.policies.index import AdmissionPolicy, PolicyBinding
from plimsoll.apiserver.admission.policies.limits import PolicyAdmission, PolicyBudget
from plimsoll.apiserver.admission.policies.matching import MatchedVersion
from plimsoll.apiserver.admission.policies.params import PolicyConfigurationError, find_params
from plimsoll.apiserver.admission.policies.questions import PolicyQuestion
from plimsoll.apiserver.model.policies.kinds import GROUP
from plimsoll.apiserver.model.status import ApiError, forbidden

EXEMPT = frozenset(
    {
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
    }
)
"""No policy can keep itself, or another one, from being mended."""
CODES = {"Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}
FAILURES = "validation.policy.admission.k8s.io/validation_failure"
LONGEST_ANNOTATION = 10 * 1024
STEPS_TO_MATCH = 5


def check(attributes: Attributes) -> None:
    """Raises ApiError, and PolicyTimeNeededError where it would take too long."""
    admission: PolicyAdmission | None = attributes.policies
    resource = attributes.resource
    if admission is None or attributes.requester is SERVER:
        return  # what the server keeps is there whatever policies say
    if resource.group == GROUP and resource.plural in EXEMPT:
        return
    check = _PolicyCheck(attributes, admission.budget())
    for policy, bindings in admission.index.bound(attributes.reader, check.budget.spend):
        check.ask(policy, bindings)
    check.refuse()


class _PolicyCheck:
    def __init__(self, attributes: Attributes, budget: PolicyBudget) -> None:
        self._attributes = attributes
        self.budget = budget
        self._denied: list[tuple[str, str, PolicyDenial]] = []
        """Policy, binding and why; the binding is empty where the policy itself is at fault."""

    def ask(self, policy: AdmissionPolicy, bindings: list[PolicyBinding]) -> None:
        self.budget.spend(STEPS_TO_MATCH)
        matched = policy.match.find(self._attributes)
        if matched is None:
            return
        annotations: dict[str, list[str]] = {}
        for binding in bindings:
            self.budget.spend(STEPS_TO_MATCH)
            if binding.match is None or binding.match.find(self._attributes) is not None:
                self._ask_bound(policy, binding, matched, annotations)
        for key, values in annotations.items():
            self._note(f"{policy.name}/{key}", ", ".join(values))

    def _ask_bound(
        self,
        policy: AdmissionPolicy,
        binding: PolicyBinding,
        matched: MatchedVersion,
        annotations: dict[str, list[str]],
    ) -> None:
        attributes = self._attributes
        try:
            params = find_params(
                policy,
                binding,
                attributes.reader,
                namespace=attributes.namespace,
                budget=self.budget,
            )
        except PolicyConfigurationError as error:
            if policy.fails_closed:
                what = "binding" if error.is_of_binding else "policy"
                said = PolicyDenial(message=f"failed to configure {what}: {error}")
                at = binding.name if error.is_of_binding else ""
                self._denied.append((policy.name, at, said))
            return
        names = PolicyQuestion(attributes, matched).names(None)
        for each in params:
            outcome = evaluated(policy, names, each, self.budget)
            for denial in outcome.denials:
                self._act(policy, binding, denial)
            for key, value in outcome.annotations.items():
                shown = value[:LONGEST_ANNOTATION]
                if shown not in annotations.setdefault(key, []):
                    annotations[key].append(shown)
            for message in outcome.annotation_errors:
                denial = PolicyDenial(message=message)
                self._denied.append((policy.name, binding.name, denial))

    def _act(self, policy: AdmissionPolicy, binding: PolicyBinding, denial: PolicyDenial) -> None:
        """As the binding says: refuse, warn, or write it down."""
        if "Deny" in binding.actions:
            self._denied.append((policy.name, binding.name, denial))
        if "Warn" in binding.actions:
            self._attributes.warnings.append(
                f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding "
                f"'{binding.name}': {denial.message}"
            )
        if "Audit" in binding.actions:
            self._note(FAILURES, _failure(policy, binding, denial))

    def _note(self, key: str, value: str) -> None:
        """For the audit log; the first of a name stays."""
        calls = self._attributes.calls
        if calls is not None:
            calls.audit_annotations.setdefault(key, value)

    def refuse(self) -> None:
        """Raises ApiError if a policy has denied the request."""
        if self._denied:
            raise _refusal(self._attributes, *self._denied[0])


def _failure(policy: AdmissionPolicy, binding: PolicyBinding, denial: PolicyDenial) -> str:
    failure: Document = {
        "message": denial.message,
        "policy": policy.name,
        "binding": binding.name,
        "expressionIndex": denial.index,
        "validationActions": list(binding.actions),
    }
    return msgspec.json.encode([failure]).decode()


def _refusal(attributes: Attributes, policy: str, binding: str, denial: PolicyDenial) -> ApiError:
    by = f"ValidatingAdmissionPolicy '{policy}'" + (f" with binding '{binding}'" if binding else "")
    said = f"{by} denied request: {denial.message}"
    error = forbidden(attributes.resource, attributes.name, said, [{"message": said}])
    error.reason = denial.reason
    error.code = CODES[denial.reason]
    return error
