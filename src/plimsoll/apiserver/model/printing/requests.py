"""How requests find their server and wait: API services, flow schemas, priority levels."""

from datetime import datetime
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.printing.ages import since
from plimsoll.apiserver.model.printing.phrases import NONE


def api_service_cells(service: Document, now: datetime) -> list[Any]:
    meta = service["metadata"]
    handler = service.get("spec", {}).get("service")
    return [
        meta.get("name", ""),
        f"{handler.get('namespace', '')}/{handler.get('name', '')}" if handler else "Local",
        _availability(_condition(service, "Available")),
        since(meta.get("creationTimestamp"), now),
    ]


def _availability(condition: Document | None) -> str:
    if condition is None:
        return "Unknown"
    status, reason = str(condition.get("status", "")), condition.get("reason")
    return f"{status} ({reason})" if reason and status != "True" else status


def flow_schema_cells(schema: Document, now: datetime) -> list[Any]:
    meta, spec = schema["metadata"], schema.get("spec", {})
    dangling = _condition(schema, "Dangling")
    return [
        meta.get("name", ""),
        (spec.get("priorityLevelConfiguration") or {}).get("name", ""),
        spec.get("matchingPrecedence", 0),
        (spec.get("distinguisherMethod") or {}).get("type", NONE),
        since(meta.get("creationTimestamp"), now),
        "?" if dangling is None else dangling.get("status", ""),
    ]


def priority_level_cells(level: Document, now: datetime) -> list[Any]:
    meta, spec = level["metadata"], level.get("spec", {})
    limited = spec.get("limited") or {}
    queuing = (limited.get("limitResponse") or {}).get("queuing") or {}
    return [
        meta.get("name", ""),
        spec.get("type", ""),
        limited.get("nominalConcurrencyShares", NONE),
        *(queuing.get(name, NONE) for name in ("queues", "handSize", "queueLengthLimit")),
        since(meta.get("creationTimestamp"), now),
    ]


def _condition(document: Document, kind: str) -> Document | None:
    conditions = (document.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each.get("type") == kind), None)
