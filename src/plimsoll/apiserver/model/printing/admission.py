"""Policies, their bindings, and webhooks: what is asked before an object is stored."""

from datetime import datetime
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.printing.ages import since
from plimsoll.apiserver.model.printing.phrases import UNSET, selector_phrase


def webhooks_cells(configuration: Document, now: datetime) -> list[Any]:
    meta = configuration["metadata"]
    return [
        meta.get("name", ""),
        len(configuration.get("webhooks") or ()),
        since(meta.get("creationTimestamp"), now),
    ]


def policy_cells(policy: Document, now: datetime) -> list[Any]:
    meta, spec = policy["metadata"], policy.get("spec", {})
    kind = spec.get("paramKind")
    return [
        meta.get("name", ""),
        len(spec.get("validations") or ()),
        f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET,
        since(meta.get("creationTimestamp"), now),
    ]


def policy_binding_cells(binding: Document, now: datetime) -> list[Any]:
    meta, spec = binding["metadata"], binding.get("spec", {})
    return [
        meta.get("name", ""),
        spec.get("policyName", ""),
        _parameters(spec.get("paramRef")),
        since(meta.get("creationTimestamp"), now),
    ]


def _parameters(reference: Document | None) -> str:
    if reference is None:
        return UNSET
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    selector = reference.get("selector")
    return UNSET if selector is None else selector_phrase(selector)
