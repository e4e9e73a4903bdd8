"""The parameters of a binding: objects of the kind that its policy names."""

from collections.abc import Iterator

import msgspec

from plimsoll.api.registry import Document, builtin_resources
from plimsoll.api.selectors.label import LabelSelector, LabelSelectorSpec
from plimsoll.apiserver.admission.attributes import Reader
from plimsoll.apiserver.admission.policies.index import AdmissionPolicy, PolicyBinding
from plimsoll.apiserver.admission.policies.limits import PolicyBudget
from plimsoll.apiserver.admission.policies.matching import DEFINITIONS

NONE_FOUND = "no params found for policy binding with `Deny` parameterNotFoundAction"
NO_NAMESPACE = (
    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
)
NAMESPACE_GIVEN = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"


class PolicyConfigurationError(Exception):
    """A policy, or a binding of it, cannot be used as it is."""

    def __init__(self, message: str, *, is_of_binding: bool = True) -> None:
        super().__init__(message)
        self.is_of_binding = is_of_binding


def find_kind(named: Document, reader: Reader) -> tuple[str, str, bool]:
    """Group and plural name of the resource of a `paramKind`, and whether it is in namespaces.

    Raises PolicyConfigurationError.
    """
    kind = named.get("kind", "")
    group, _, version = named.get("apiVersion", "").rpartition("/")
    for resource in builtin_resources():
        if (resource.group, resource.version, resource.kind) == (group, version, kind):
            return group, resource.plural, resource.namespaced
    for definition in reader.list(*DEFINITIONS):
        spec = definition["spec"]
        served = [each["name"] for each in spec.get("versions") or () if each.get("served")]
        if (spec["group"], spec["names"]["kind"]) == (group, kind) and version in served:
            return group, spec["names"]["plural"], spec["scope"] == "Namespaced"
    raise PolicyConfigurationError(
        f"failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'",
        is_of_binding=False,
    )


def find_params(
    policy: AdmissionPolicy,
    binding: PolicyBinding,
    reader: Reader,
    *,
    namespace: str,
    budget: PolicyBudget,
) -> list[Document | None]:
    """What the policy is evaluated with, each on its own; None: without parameters.

    Raises PolicyConfigurationError.
    """
    if policy.param_kind is None:
        return [None]
    group, plural, is_namespaced = find_kind(policy.param_kind, reader)
    reference = binding.param
    if reference is None:
        return [None]
    within = reference.get("namespace", "")
    if not is_namespaced and within:
        raise PolicyConfigurationError(NAMESPACE_GIVEN)
    if is_namespaced:
        within = within or namespace
        if not within:
            raise PolicyConfigurationError(NO_NAMESPACE)
    found = list(_chosen(reference, (group, plural, within), reader, budget))
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise PolicyConfigurationError(NONE_FOUND)
    return [policy.param_kind | document for document in found]


def _chosen(
    reference: Document, place: tuple[str, str, str], reader: Reader, budget: PolicyBudget
) -> Iterator[Document]:
    """By name, or all that the selector takes."""
    if reference.get("name"):
        named = reader.get(*place, reference["name"])
        if named is not None:
            yield named
        return
    selector = LabelSelector.of(msgspec.convert(reference.get("selector") or {}, LabelSelectorSpec))
    for _, version in reader.versions(*place):
        budget.spend(1)
        if selector.matches(version.labels):
            budget.spend(1 + len(version.raw) // 100)
            yield version.document()
