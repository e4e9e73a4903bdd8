"""Claims: a kubelet reports that a volume has grown, and changes nothing else."""

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes, Operation

REPORTED = frozenset({"capacity", "conditions", "allocatedResources", "allocatedResourceStatuses"})
"""Fields of the status that it may change."""
NOT_COMPARED = frozenset({"resourceVersion", "managedFields"})


def against(node: str, attributes: Attributes) -> str | None:
    if attributes.subresource != "status":
        return "may only update PVC status"
    if attributes.operation is not Operation.UPDATE:
        return f'unexpected operation "{attributes.operation}"'
    old, new = _compared(attributes.old or {}), _compared(attributes.document)
    changed = sorted(part for part in old.keys() | new.keys() if old.get(part) != new.get(part))
    if not changed:
        return None
    only = "fields other than status.quantity and status.conditions"
    return f'node "{node}" is not allowed to update {only}: {", ".join(changed)}'


def _compared(claim: Document) -> Document:
    """Without what may differ; what is empty is as if it were not there."""
    meta = {key: claim["metadata"][key] for key in claim["metadata"] if key not in NOT_COMPARED}
    status = claim.get("status") or {}
    kept = {key: status[key] for key in status if key not in REPORTED}
    found = claim | {"metadata": meta, "status": kept}
    return {
        part: {key: value for key, value in content.items() if value}
        for part, content in found.items()
        if isinstance(content, dict)
    }
