"""Devices of resource.k8s.io: who offers them, who claims them."""

from datetime import datetime
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.printing.ages import since


def resource_claim_cells(claim: Document, now: datetime) -> list[Any]:
    meta = claim["metadata"]
    return [meta.get("name", ""), _state(claim), since(meta.get("creationTimestamp"), now)]


def resource_slice_cells(resource_slice: Document, now: datetime) -> list[Any]:
    meta, spec = resource_slice["metadata"], resource_slice.get("spec", {})
    return [
        meta.get("name", ""),
        spec.get("nodeName", ""),
        spec.get("driver", ""),
        spec.get("pool", {}).get("name", ""),
        since(meta.get("creationTimestamp"), now),
    ]


def _state(claim: Document) -> str:
    status, deleted = claim.get("status", {}), bool(claim["metadata"].get("deletionTimestamp"))
    states = ["deleted"] if deleted else []
    if status.get("allocation"):
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    elif not deleted:
        states.append("pending")
    return ",".join(states)
