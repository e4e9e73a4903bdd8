"""Which volumes a pod has, and which nodes reach them, as documents tell it."""

from collections.abc import Iterator

from plimsoll.api.registry import Document


def claims_of(pod: Document) -> Iterator[str]:
    name = pod["metadata"]["name"]
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield volume["persistentVolumeClaim"]["claimName"]
        elif "ephemeral" in volume:
            yield f"{name}-{volume['name']}"


def reaches(node: Document, volume: Document) -> bool:
    """Whether the volume's node affinity allows the node."""
    required = ((volume["spec"].get("nodeAffinity") or {}).get("required") or {}).get(
        "nodeSelectorTerms"
    )
    if not required:
        return True
    labels = node["metadata"].get("labels") or {}
    return any(_matches(labels, term) for term in required)


def _matches(labels: dict[str, str], term: Document) -> bool:
    expressions = term.get("matchExpressions") or ()
    return all(labels.get(each["key"]) in (each.get("values") or ()) for each in expressions)
