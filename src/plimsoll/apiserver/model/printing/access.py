"""Role bindings: who may do what."""

from datetime import datetime
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.printing.ages import since


def role_binding_cells(binding: Document, now: datetime) -> list[Any]:
    meta, role = binding["metadata"], binding.get("roleRef", {})
    return [
        meta.get("name", ""),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        since(meta.get("creationTimestamp"), now),
        _subjects(binding, "User"),
        _subjects(binding, "Group"),
        _subjects(binding, "ServiceAccount"),
    ]


def _subjects(binding: Document, kind: str) -> str:
    return ", ".join(
        _subject(subject) for subject in binding.get("subjects", ()) if subject.get("kind") == kind
    )


def _subject(subject: Document) -> str:
    name = str(subject.get("name", ""))
    if subject.get("kind") != "ServiceAccount" or not subject.get("namespace"):
        return name
    return f"{subject['namespace']}/{name}"
