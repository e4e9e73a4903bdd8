"""Service accounts: references to secrets by name, and nothing else."""

from datetime import datetime

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.rules import KindRules

MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"


def _keep_secret_names(account: Document) -> None:
    """Of a reference to a secret only the name is kept: it is always of the same namespace."""
    if "secrets" in account:
        account["secrets"] = [
            {"name": secret["name"]} if "name" in secret else {} for secret in account["secrets"]
        ]


def prepare_create(account: Document, _now: datetime) -> None:
    _keep_secret_names(account)


def prepare_update(new: Document, _old: Document, _now: datetime) -> None:
    _keep_secret_names(new)


def warnings(account: Document, old: Document | None) -> list[str]:
    before = (old or {}).get("metadata", {}).get("annotations", {})
    if MOUNTABLE in account["metadata"].get("annotations", {}) and MOUNTABLE not in before:
        remedy = "prefer separate namespaces to isolate access to mounted secrets"
        return [f"metadata.annotations[{MOUNTABLE}]: deprecated in v1.32+; {remedy}"]
    return []


RULES = KindRules(
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    warnings=warnings,
    returns_deleted=True,
    name_checked_on_update=True,
)
