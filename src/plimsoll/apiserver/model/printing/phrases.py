"""Pieces of cells that many kinds share: labels, selectors, containers, shortened lists."""

from collections.abc import Iterable, Mapping, Sequence

from plimsoll.api.registry import Document

NONE = "<none>"
UNSET = "<unset>"
SHOWN_ITEMS = 3


def labels_phrase(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def selector_phrase(selector: Document | None) -> str:
    """A label selector in the form that `-l` takes; empty when it selects everything."""
    selector = selector or {}
    equal = [(key, f"{key}={value}") for key, value in selector.get("matchLabels", {}).items()]
    expressions = [(e.get("key", ""), _expression(e)) for e in selector.get("matchExpressions", ())]
    ordered = sorted([*equal, *expressions], key=lambda pair: pair[0])
    return ",".join(phrase for _, phrase in ordered)


def _expression(expression: Document) -> str:
    key = expression.get("key", "")
    values = ",".join(sorted(expression.get("values", ())))
    match expression.get("operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
        case _:
            return str(key)


def container_cells(template: Document | None) -> list[str]:
    """Names and images of a pod template's containers."""
    containers = (template or {}).get("spec", {}).get("containers") or ()
    return [
        ",".join(container.get("name", "") for container in containers),
        ",".join(container.get("image", "") for container in containers),
    ]


def shortened(items: Sequence[str]) -> str:
    """The first few items and how many more there are."""
    shown = ",".join(items[:SHOWN_ITEMS])
    hidden = len(items) - SHOWN_ITEMS
    return f"{shown} + {hidden} more..." if hidden > 0 else shown


def condition_status(conditions: Iterable[Document], wanted: str) -> str | None:
    """The status of the first condition of that type."""
    return next((c.get("status") for c in conditions if c.get("type") == wanted), None)
