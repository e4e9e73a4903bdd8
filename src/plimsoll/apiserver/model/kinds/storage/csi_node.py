"""CSINode: the drivers of a node; one that stays keeps its node id and topology keys."""

from collections.abc import Iterator

from plimsoll.api.names import qualified_name_errors
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.rules import KindRules
from plimsoll.apiserver.model.kinds.storage.driver_names import driver_name_errors

NODE_ID_LIMIT = 256


def validate(csi_node: Document) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, driver in enumerate(_drivers(csi_node)):
        path = f"spec.drivers[{index}]"
        name = driver.get("name", "")
        yield from driver_name_errors(name, f"{path}.name")
        yield from _node_id_errors(driver.get("nodeID", ""), f"{path}.nodeID")
        count = (driver.get("allocatable") or {}).get("count")
        if count is not None and count < 0:
            yield FieldError.invalid(
                f"{path}.allocatable.count", count, "must be greater than or equal to 0"
            )
        if name in seen:
            yield FieldError.duplicate(f"{path}.name", name)
        seen.add(name)
        yield from _topology_key_errors(driver.get("topologyKeys") or [], path)


def _drivers(csi_node: Document) -> list[Document]:
    return (csi_node.get("spec") or {}).get("drivers") or []


def _node_id_errors(node_id: str, path: str) -> Iterator[FieldError]:
    if not node_id:
        yield FieldError.required(path)
    if len(node_id.encode()) > NODE_ID_LIMIT:
        yield FieldError.invalid(path, node_id, f"must be {NODE_ID_LIMIT} characters or less")


def _topology_key_errors(keys: list[str], path: str) -> Iterator[FieldError]:
    """Complaints name the driver, not the key."""
    for position, key in enumerate(keys):
        if not key:
            yield FieldError.required(path, key)
        if key in keys[:position]:
            yield FieldError.duplicate(path, key)
        for error in qualified_name_errors(key):
            yield FieldError.invalid(path, key, error)


def validate_update(new: Document, old: Document) -> Iterator[FieldError]:
    yield from validate(new)
    for before in _drivers(old):
        for driver in _drivers(new):
            if before.get("name") == driver.get("name") and _fixed(before) != _fixed(driver):
                yield FieldError.invalid("spec.drivers", driver, "field is immutable")


def _fixed(driver: Document) -> Document:
    """All of a driver but how many volumes it takes, which may change while it runs."""
    return {field: value for field, value in driver.items() if field != "allocatable" and value}


RULES = KindRules(
    validate=validate,
    validate_update=validate_update,
    unconditional_update=False,
    returns_deleted=True,
    name_checked_on_update=True,
)
