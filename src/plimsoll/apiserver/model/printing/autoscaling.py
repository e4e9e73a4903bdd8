"""HorizontalPodAutoscalers of both versions: what they look at, and what they found."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.printing.ages import since
from plimsoll.apiserver.model.printing.phrases import NONE, UNSET

UNKNOWN = "<unknown>"
AUTO = "<auto>"
SHOWN_METRICS = 2
HOLDERS: Mapping[str, str] = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
"""Where a metric of a type says what it is."""
OF_RESOURCES = ("ContainerResource", "Resource")


def autoscaler_cells(autoscaler: Document, now: datetime) -> list[Any]:
    meta, spec, status = (autoscaler.get(part) or {} for part in ("metadata", "spec", "status"))
    target = spec.get("scaleTargetRef") or {}
    least = spec.get("minReplicas")
    return [
        meta.get("name", ""),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(spec, status),
        UNSET if least is None else str(least),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        since(meta.get("creationTimestamp"), now),
    ]


def _metrics(spec: Document, status: Document) -> str:
    wanted = spec.get("metrics") or ()
    found = status.get("currentMetrics") or ()
    if "targetCPUUtilizationPercentage" in spec:  # the older version has this alone
        now = _percent(status.get("currentCPUUtilizationPercentage"), UNKNOWN)
        return f"cpu: {now}/{_percent(spec['targetCPUUtilizationPercentage'], AUTO)}"
    if not wanted:
        return NONE
    phrases = [
        _metric(metric, found[n] if n < len(found) else {})
        for n, metric in enumerate(wanted[:SHOWN_METRICS])
    ]
    more = len(wanted) - SHOWN_METRICS
    return ", ".join(phrases) + (f" + {more} more..." if more > 0 else "")


def _metric(wanted: Document, found: Document) -> str:
    kind = wanted.get("type", "")
    if kind not in HOLDERS:
        return "<unknown type>"
    metric = wanted.get(HOLDERS[kind]) or {}
    target = metric.get("target") or {}
    current = (found.get(HOLDERS[kind]) or {}).get("current") or {}
    if kind in OF_RESOURCES:
        return f"{metric.get('name', '')}: {_of_resource(target, current)}"
    if target.get("averageValue") is not None:
        suffix = "" if kind == "Pods" else " (avg)"
        return f"{current.get('averageValue', UNKNOWN)}/{target['averageValue']}{suffix}"
    return f"{current.get('value', UNKNOWN)}/{target.get('value', 0)}"


def _of_resource(target: Document, current: Document) -> str:
    if target.get("averageValue") is not None:
        return f"{current.get('averageValue', UNKNOWN)}/{target['averageValue']}"
    now = _percent(current.get("averageUtilization"), UNKNOWN)
    return f"{now}/{_percent(target.get('averageUtilization'), AUTO)}"


def _percent(number: int | None, otherwise: str) -> str:
    return otherwise if number is None else f"{number}%"
