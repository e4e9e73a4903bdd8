"""What `kubectl get` prints of custom resources: the columns that a definition names."""

from datetime import datetime
from typing import Any

import msgspec

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.json_paths import PathError, find_values
from plimsoll.apiserver.model.custom.values.numbers import shown_number
from plimsoll.apiserver.model.printing.ages import parse_time, since

AGE: Document = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
NAME: Document = {
    "name": "Name",
    "type": "string",
    "format": "name",
    "description": "The name of the object.",
    "priority": 0,
}
FROM_PATH = "Custom resource definition column (in JSONPath format): "


def column_definitions(columns: list[Document]) -> list[Document]:
    """The head of a table; the name comes first, whatever the definition says."""
    return [NAME, *(_definition(column) for column in columns)]


def _definition(column: Document) -> Document:
    is_age = column is AGE
    said = "The time since the object was created." if is_age else FROM_PATH + column["jsonPath"]
    return {
        "name": column["name"],
        "type": column["type"],
        "format": column.get("format", ""),
        "description": column.get("description") or said,
        "priority": column.get("priority", 0),
    }


def cells(columns: list[Document], document: Document, now: datetime) -> list[Any]:
    """A row of the table."""
    name = document["metadata"].get("name", "")
    return [name, *(_cell(column, document, now) for column in columns)]


def _cell(column: Document, document: Document, now: datetime) -> Any:
    try:
        found = find_values(column["jsonPath"], document)
    except PathError:
        return None
    if not found or found[0] is None:
        return None
    return _shown(column["type"], found[0], now)


def _shown(kind: str, value: Any, now: datetime) -> Any:
    match kind:
        case "string":
            return _text(value)
        case "date" if isinstance(value, str):
            return since(value, now) if parse_time(value) is not None else "<invalid>"
        case "boolean" if isinstance(value, bool):
            return value
        case "integer" if isinstance(value, int | float) and not isinstance(value, bool):
            return int(value)
        case "number" if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        case _:
            return None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode()
    return shown_number(value)
