"""What an update may do to an object's metadata, beyond what all kinds have in common."""

import pytest

from tests.processes.apiserver.api import MAPS, Api

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@pytest.mark.parametrize(("place", "status"), [(MAPS, 422), (LEASES, 200)])
async def test_some_kinds_check_a_prefix_for_names_that_comes_too_late(
    api: Api, place: str, status: int
) -> None:
    await api.ask("POST", place, {"metadata": {"name": "a"}})
    patched = await api.ask("PATCH", f"{place}/a", {"metadata": {"generateName": "Bad_"}})
    assert patched.status == status


async def test_a_patch_cannot_move_an_object_to_another_namespace(api: Api) -> None:
    await api.create("a")
    moved = await api.ask("PATCH", f"{MAPS}/a", {"metadata": {"namespace": "other"}})
    assert (moved.status, moved.document["reason"]) == (400, "BadRequest")


async def test_changes_of_a_priority_class_are_not_counted(api: Api) -> None:
    await api.ask("POST", CLASSES, {"metadata": {"name": "a"}, "value": 1})
    changed = await api.ask("PATCH", f"{CLASSES}/a", {"description": "new"})
    assert changed.document["description"] == "new"
    assert changed.document["metadata"]["generation"] == 1
