"""Role bindings, and requests for certificates: who may do what, and who asks for it."""

from datetime import datetime, timedelta
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.printing.ages import human_duration, since

NONE = "<none>"


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


def certificate_signing_request_cells(request: Document, now: datetime) -> list[Any]:
    meta, spec = request["metadata"], request.get("spec", {})
    seconds = spec.get("expirationSeconds")
    return [
        meta.get("name", ""),
        since(meta.get("creationTimestamp"), now),
        spec.get("signerName") or NONE,
        spec.get("username", ""),
        NONE if seconds is None else human_duration(timedelta(seconds=seconds)),
        _verdict(request.get("status", {})),
    ]


def _verdict(status: Document) -> str:
    """A denial counts more than an approval."""
    types = {condition.get("type") for condition in status.get("conditions", ())}
    verdict = next((name for name in ("Denied", "Approved") if name in types), "Pending")
    failed = ",Failed" if "Failed" in types else ""
    issued = ",Issued" if status.get("certificate") else ""
    return f"{verdict}{failed}{issued}"
