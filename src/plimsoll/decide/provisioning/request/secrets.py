"""Which secret a class names for which use.

Only names are worked out here. Templates may name the volume and the claim: `${pv.name}`,
`${pvc.namespace}`, and for the secret's name, which a user may influence, also `${pvc.name}` and
`${pvc.annotations['key']}`. The namespace never depends on what a user can choose.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from plimsoll.api.names import dns_label_errors, dns_subdomain_errors
from plimsoll.api.selectors.complaints import quoted
from plimsoll.api.volumes import SecretReference
from plimsoll.decide.provisioning.failures import Problem, ProvisioningState, refuse
from plimsoll.decide.provisioning.request.parameters import RESERVED

TOKEN = re.compile(r"\$(?:\{(?P<braced>[^}]*)\}|\{|(?P<bare>[*#$@!?0-9-]|[A-Za-z0-9_]+))")
"""A brace that is empty, or not closed, counts for nothing and disappears."""


@dataclass(frozen=True, slots=True)
class SecretUse:
    title: str
    infix: str
    old_prefix: str = ""
    """Older classes spell these keys without the reserved prefix."""

    @property
    def name_keys(self) -> tuple[str, ...]:
        return self._keys("secret-name", "SecretName")

    @property
    def namespace_keys(self) -> tuple[str, ...]:
        return self._keys("secret-namespace", "SecretNamespace")

    def _keys(self, part: str, old_part: str) -> tuple[str, ...]:
        old = (f"{self.old_prefix}{old_part}",) if self.old_prefix else ()
        return (*old, f"{RESERVED}{self.infix}{part}")


DEFAULT = SecretUse("Default", "")
PROVISIONER = SecretUse("Provisioner", "provisioner-", "csiProvisioner")
CONTROLLER_PUBLISH = SecretUse("ControllerPublish", "controller-publish-", "csiControllerPublish")
NODE_STAGE = SecretUse("NodeStage", "node-stage-", "csiNodeStage")
NODE_PUBLISH = SecretUse("NodePublish", "node-publish-", "csiNodePublish")
CONTROLLER_EXPAND = SecretUse("ControllerExpand", "controller-expand-")
NODE_EXPAND = SecretUse("NodeExpand", "node-expand-")
CONTROLLER_MODIFY = SecretUse("ControllerModify", "controller-modify-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What templates can speak of."""

    volume: str
    claim: str
    namespace: str
    annotations: Mapping[str, str]

    @property
    def for_namespace(self) -> dict[str, str]:
        return {"pv.name": self.volume, "pvc.namespace": self.namespace}

    @property
    def for_name(self) -> dict[str, str]:
        annotations = {f"pvc.annotations['{key}']": v for key, v in self.annotations.items()}
        return self.for_namespace | {"pvc.name": self.claim} | annotations


def find_secret(
    use: SecretUse, parameters: Mapping[str, str], names: Names
) -> SecretReference | None:
    """The secret for this use, or the class's default one; None if the class names neither."""
    templates = _templates(use, parameters) or _templates(DEFAULT, parameters)
    if templates is None:
        return None
    name, namespace = templates
    resolved_namespace = _resolved(namespace, names.for_namespace)
    if dns_label_errors(resolved_namespace):
        _invalid(Problem.SECRET_NAMESPACE, namespace, resolved_namespace)
    resolved_name = _resolved(name, names.for_name)
    if dns_subdomain_errors(resolved_name):
        _invalid(Problem.SECRET_NAME, name, resolved_name)
    return SecretReference(name=resolved_name, namespace=resolved_namespace)


def _templates(use: SecretUse, parameters: Mapping[str, str]) -> tuple[str, str] | None:
    names = [parameters[key] for key in use.name_keys if key in parameters]
    namespaces = [parameters[key] for key in use.namespace_keys if key in parameters]
    if len(names) > 1 or len(namespaces) > 1:
        _incomplete(
            f'{use.title} secrets specified in parameters with both "csi" and "{RESERVED}" keys'
        )
    if len(names) != len(namespaces):
        _incomplete(
            f"either name and namespace for {use.title} secrets specified, Both must be specified"
        )
    if not names:
        return None
    if not names[0] or not namespaces[0]:
        _incomplete(
            f"{use.title} secrets specified in parameters "
            "but value of either namespace or name is empty"
        )
    return names[0], namespaces[0]


def _incomplete(message: str) -> NoReturn:
    refuse(
        Problem.SECRET_PARAMETERS,
        f"failed to get name and namespace template from params: {message}",
        ProvisioningState.NO_CHANGE,
    )


def _invalid(problem: Problem, template: str, resolved: str) -> NoReturn:
    kind = "namespace" if problem is Problem.SECRET_NAMESPACE else "secret"
    how = f" resolved to {quoted(resolved)} which" if template != resolved else ""
    refuse(
        problem, f"{quoted(template)}{how} is not a valid {kind} name", ProvisioningState.NO_CHANGE
    )


def _resolved(template: str, values: Mapping[str, str]) -> str:
    missing: set[str] = set()

    def replaced(match: re.Match[str]) -> str:
        token = match["braced"] or match["bare"] or ""
        if token and token not in values:
            missing.add(token)
        return values.get(token, "")

    resolved = TOKEN.sub(replaced, template)
    if missing:
        listed = " ".join(map(quoted, sorted(missing)))
        refuse(
            Problem.SECRET_TEMPLATE,
            f"error resolving value {quoted(template)}: invalid tokens: [{listed}]",
            ProvisioningState.NO_CHANGE,
        )
    return resolved
