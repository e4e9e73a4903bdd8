"""Ephemeral containers: `pods/{name}/ephemeralcontainers` adds them to a pod that exists."""

from collections.abc import Iterator
from datetime import datetime

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.annotations import MIRROR
from plimsoll.apiserver.model.kinds.pods.spec import pod_errors

EPHEMERAL = "ephemeralContainers"


def prepare_ephemeral_containers(new: Document, old: Document, _now: datetime) -> None:
    """Nothing else is taken from the client."""
    asked = new["spec"].get(EPHEMERAL)
    new["spec"] = {name: value for name, value in old["spec"].items() if name != EPHEMERAL}
    if asked:
        new["spec"][EPHEMERAL] = asked
    if "status" in old:
        new["status"] = old["status"]


def ephemeral_container_errors(new: Document, old: Document) -> Iterator[FieldError]:
    if MIRROR in (old["metadata"].get("annotations") or {}):
        yield FieldError.forbidden("", "static pods do not support ephemeral containers")
        return
    yield from pod_errors(new)
    wanted = {each.get("name", ""): each for each in new["spec"].get(EPHEMERAL) or ()}
    for before in old["spec"].get(EPHEMERAL) or ():
        name = before.get("name", "")
        if wanted.get(name) == before:
            continue
        what = "changed" if name in wanted else "removed"
        yield FieldError.forbidden(
            f"spec.{EPHEMERAL}", f'existing ephemeral containers "{name}" may not be {what}'
        )
