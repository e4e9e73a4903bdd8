"""Short documents for tests of the cache."""

from plimsoll.api.meta import ObjectKey
from plimsoll.api.registry import Document


def an_object(name: str, version: int | str, value: str = "", node: str = "") -> Document:
    metadata = {"namespace": "ns", "name": name, "resourceVersion": str(version)}
    return {"metadata": metadata, "value": value, "node": node}


def key(name: str) -> ObjectKey:
    return ObjectKey("ns", name)
