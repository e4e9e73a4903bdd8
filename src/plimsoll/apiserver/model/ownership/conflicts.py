"""Fields that an applier wants and that another manager owns."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.ownership import field_set
from plimsoll.apiserver.model.ownership.entries import UPDATE, ManagedFieldsEntry
from plimsoll.apiserver.model.ownership.field_set import FieldSet
from plimsoll.apiserver.model.status import ApiError


@dataclass(frozen=True, slots=True)
class Conflict:
    owner: ManagedFieldsEntry
    path: tuple[str, ...]

    @property
    def field(self) -> str:
        return field_set.dotted(self.path)

    @property
    def cause(self) -> Document:
        return {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {called(self.owner)}",
            "field": self.field,
        }


class ApplyConflictError(Exception):
    def __init__(self, conflicts: list[Conflict]) -> None:
        super().__init__(_summary(conflicts))
        self.conflicts = conflicts

    @property
    def answer(self) -> ApiError:
        causes = [conflict.cause for conflict in self.conflicts]
        return ApiError(409, "Conflict", str(self), {"causes": causes})


def conflicts_with(owners: Iterable[ManagedFieldsEntry], wanted: FieldSet) -> Iterator[Conflict]:
    """Where the wanted fields are owned already."""
    for entry in sorted(owners, key=lambda entry: entry.key):
        for path in field_set.paths(field_set.intersection(entry.fields, wanted)):
            yield Conflict(entry, path)


def called(owner: ManagedFieldsEntry) -> str:
    name = f'"{owner.manager}"'
    if owner.subresource:
        name += f' with subresource "{owner.subresource}"'
    return f"{name} using {owner.api_version}" if owner.operation == UPDATE else name


def _summary(conflicts: list[Conflict]) -> str:
    if len(conflicts) == 1:
        owner = called(conflicts[0].owner)
        return f"Apply failed with 1 conflict: conflict with {owner}: {conflicts[0].field}"
    lines: list[str] = []
    owner = ""
    for conflict in conflicts:
        if called(conflict.owner) != owner:
            owner = called(conflict.owner)
            lines.append(f"conflicts with {owner}:")
        lines.append(f"- {conflict.field}")
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)
