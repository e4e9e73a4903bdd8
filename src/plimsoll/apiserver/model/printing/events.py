"""Events, which two API groups show under different field names."""

from datetime import datetime
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.printing.ages import since


def event_cells(event: Document, now: datetime) -> list[Any]:
    """An event as the core group has it."""
    first = since(event.get("firstTimestamp") or event.get("eventTime"), now)
    series = event.get("series")
    involved = event.get("involvedObject", {})
    return [
        _last_seen(event, first, now),
        event.get("type", ""),
        event.get("reason", ""),
        _target(involved),
        involved.get("fieldPath", ""),
        _source(event),
        event.get("message", "").strip(),
        first,
        series.get("count", 0) if series else event.get("count") or 1,
        event["metadata"].get("name", ""),
    ]


def new_event_cells(event: Document, now: datetime) -> list[Any]:
    """The same event as events.k8s.io has it."""
    translated = event | {
        "involvedObject": event.get("regarding", {}),
        "message": event.get("note", ""),
        "source": event.get("deprecatedSource", {}),
        "count": event.get("deprecatedCount", 0),
        "firstTimestamp": event.get("deprecatedFirstTimestamp"),
        "lastTimestamp": event.get("deprecatedLastTimestamp"),
        "reportingComponent": event.get("reportingController", ""),
    }
    return event_cells(translated, now)


def _last_seen(event: Document, first: str, now: datetime) -> str:
    if event.get("series"):
        return since(event["series"].get("lastObservedTime"), now)
    return since(event["lastTimestamp"], now) if event.get("lastTimestamp") else first


def _target(involved: Document) -> str:
    kind = involved.get("kind", "").lower()
    return f"{kind}/{involved['name']}" if involved.get("name") else str(kind)


def _source(event: Document) -> str:
    source = event.get("source", {})
    component = source.get("component") or event.get("reportingComponent", "")
    host = source.get("host") or event.get("reportingInstance", "")
    return f"{component}, {host}" if host else component
