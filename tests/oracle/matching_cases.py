"""Asks `plimsoll.decide.claims.match` and `plimsoll.decide.claims.volume_index`."""

from typing import Any

from plimsoll.api.core import Node
from plimsoll.api.patch import merge_patch
from plimsoll.api.registry import Document
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.claims.match import Search, find_first_match, find_match
from plimsoll.decide.claims.volume_index import VolumeIndex
from plimsoll.decide.claims.writes import bind_volume

Answer = dict[str, Any]


def matching(case: dict[str, Any]) -> Answer:
    claim = from_document(PersistentVolumeClaim, case["claim"])
    node = case["node"] and from_document(Node, case["node"])
    try:
        search = Search.of(
            claim,
            node_labels=node.labels if node else None,
            excluded=case["excluded"] or (),
            waits_for_scheduler=case["delayBinding"],
            knows_attributes_classes=case["vacEnabled"],
        )
    except ValueError as error:
        return {"volume": None, "error": str(error)}
    volume = find_match(search, _volumes(case))
    if volume is None:
        return {"volume": None}
    document = next(v for v in case["volumes"] if v["metadata"]["name"] == volume.name)
    return {"volume": volume.name, "bound": _bound(document, volume, claim)}


def matching_controller(case: dict[str, Any]) -> Answer:
    claim = from_document(PersistentVolumeClaim, case["claim"])
    index = VolumeIndex()
    for volume in _volumes(case):
        index.put(volume)
    try:
        search = Search.of(claim, waits_for_scheduler=case["delayBinding"])
    except ValueError as error:
        if not index.offers(claim.spec.access_modes):
            return {"volume": None}
        return {"volume": None, "error": str(error)}
    found = find_first_match(search, index.candidates(search))
    return {"volume": found.name if found else None}


def _volumes(case: dict[str, Any]) -> list[PersistentVolume]:
    return [from_document(PersistentVolume, volume) for volume in case["volumes"]]


def _bound(document: Document, volume: PersistentVolume, claim: PersistentVolumeClaim) -> Answer:
    write = bind_volume(volume, claim)
    bound = merge_patch.apply(document, write.patch) if write else document
    return {
        "dirty": write is not None,
        "claimRef": bound["spec"]["claimRef"],
        "annotations": bound["metadata"].get("annotations"),
    }
