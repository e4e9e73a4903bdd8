from plimsoll.apiserver.model.ownership.entries import APPLY, UPDATE, ManagedFieldsEntry, Owners
from plimsoll.apiserver.model.ownership.field_set import FieldSet
from plimsoll.apiserver.model.ownership.scale_owners import (
    REPLICAS,
    SCALE_VERSION,
    of_scale,
    of_workload,
)

APPS = "apps/v1"
MORE: FieldSet = {"f:spec": {"f:replicas": {}, "f:selector": {}}}


def owners(*entries: ManagedFieldsEntry) -> Owners:
    return {entry.key: entry for entry in entries}


def an_entry(
    manager: str, operation: str = UPDATE, version: str = APPS, **more: object
) -> ManagedFieldsEntry:
    fields = more.get("fields", REPLICAS)
    assert isinstance(fields, dict)
    return ManagedFieldsEntry(
        manager=manager, operation=operation, api_version=version, fields=fields
    )


def test_a_scale_shows_only_the_owners_of_the_number() -> None:
    workload = owners(an_entry("a", fields=MORE), an_entry("b", fields={"f:spec": {"f:x": {}}}))
    [shown] = of_scale(workload).values()
    assert (shown.manager, shown.api_version, shown.fields) == ("a", SCALE_VERSION, REPLICAS)


def test_who_loses_the_number_keeps_the_rest() -> None:
    workload = owners(an_entry("a", fields=MORE))
    scale = owners(an_entry("b", APPLY, SCALE_VERSION))
    kept = {entry.manager: entry.fields for entry in of_workload(workload, scale, APPS).values()}
    assert kept == {"a": {"f:spec": {"f:selector": {}}}, "b": REPLICAS}


def test_who_loses_all_it_owned_is_no_owner_any_more() -> None:
    assert of_workload(owners(an_entry("a")), {}, APPS) == {}


def test_who_still_owns_the_number_stays_as_it_was() -> None:
    workload = owners(an_entry("a", fields=MORE))
    assert of_workload(workload, of_scale(workload), APPS) == workload
