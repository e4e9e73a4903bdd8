from plimsoll.api.registry import Document
from plimsoll.apiserver.model.ownership.tracking import is_unchanged, track_create, track_update
from tests.apiserver.model.ownership.objects import LATER, a_config_map, a_pod, at, by, owned


def created(document: Document, manager: str = "maker") -> Document:
    """The object as it is stored."""
    entries = track_create(at(document["kind"]), document, by(manager))
    return document | {"metadata": document["metadata"] | {"managedFields": entries}}


def test_who_creates_an_object_owns_what_it_set() -> None:
    entries = track_create(at("ConfigMap"), a_config_map({"a": "1"}), by("maker"))
    assert entries == [
        {
            "manager": "maker",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-01T12:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:a": {}}},
        }
    ]


def test_an_object_with_nothing_but_a_name_has_no_owner() -> None:
    assert track_create(at("ConfigMap"), a_config_map(), by("maker")) == []


def test_the_status_of_a_new_object_has_no_owner() -> None:
    pod = a_pod({"name": "c", "image": "x"}) | {"status": {"phase": "Pending"}}
    fields = owned(track_create(at("Pod"), pod, by("maker")))["maker"]
    assert list(fields) == ["f:spec"]
    assert "." not in fields["f:spec"]["f:containers"]


def test_who_changes_a_field_takes_it_from_its_owner() -> None:
    old = created(a_config_map({"a": "1", "b": "1"}))
    new = old | {"data": {"a": "2", "b": "1"}}
    entries = track_update(at("ConfigMap"), new, old, by("other", LATER))
    assert owned(entries) == {
        "maker": {"f:data": {".": {}, "f:b": {}}},
        "other": {"f:data": {"f:a": {}}},
    }


def test_a_removed_field_belongs_to_no_manager() -> None:
    old = created(a_config_map({"a": "1", "b": "1"}))
    entries = track_update(at("ConfigMap"), old | {"data": {"b": "1"}}, old, by("other"))
    assert owned(entries) == {"maker": {"f:data": {".": {}, "f:b": {}}}}


def test_an_owner_of_nothing_is_forgotten() -> None:
    old = created(a_config_map({"a": "1"}))
    entries = track_update(at("ConfigMap"), a_config_map(), old, by("other"))
    assert entries == []


def test_a_write_that_changes_nothing_changes_no_owner_and_no_time() -> None:
    old = created(a_config_map({"a": "1"}))
    entries = track_update(at("ConfigMap"), a_config_map({"a": "1"}), old, by("other", LATER))
    assert entries == old["metadata"]["managedFields"]


def test_what_a_manager_changes_is_added_to_what_it_owns() -> None:
    old = created(a_config_map({"a": "1"}))
    new = a_config_map({"a": "1", "b": "1"})
    [entry] = track_update(at("ConfigMap"), new, old, by("maker", LATER))
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:a": {}, "f:b": {}}}
    assert entry["time"] == LATER


def test_fields_that_the_endpoint_resets_change_no_owner() -> None:
    old = created(a_pod({"name": "c", "image": "x"}))
    new = old | {"status": {"phase": "Running"}}
    assert owned(track_update(at("Pod"), new, old, by("other"))) == owned(
        old["metadata"]["managedFields"]
    )


def test_writes_to_the_status_have_an_entry_of_their_own() -> None:
    old = created(a_pod({"name": "c", "image": "x"}))
    new = old | {"status": {"phase": "Running"}, "spec": {}}
    entries = track_update(at("Pod", "status"), new, old, by("maker", LATER))
    assert [entry.get("subresource", "") for entry in entries] == ["", "status"]
    assert entries[1]["fieldsV1"] == {"f:status": {"f:phase": {}}}
    assert entries[0] == old["metadata"]["managedFields"][0]


def test_an_empty_list_makes_the_server_forget_all_owners() -> None:
    old = created(a_config_map({"a": "1"}))
    resets: tuple[list[Document], ...] = ([], [{}])
    for sent in resets:
        new = a_config_map({"a": "2"}, managedFields=sent)
        assert track_update(at("ConfigMap"), new, old, by("other")) == []


def test_forgotten_owners_stay_forgotten() -> None:
    old = a_config_map({"a": "1"})
    assert track_update(at("ConfigMap"), a_config_map({"a": "2"}), old, by("other")) == []


def test_a_client_may_correct_the_owners() -> None:
    old = created(a_config_map({"a": "1"}))
    sent = [old["metadata"]["managedFields"][0] | {"manager": "renamed"}]
    entries = track_update(
        at("ConfigMap"), a_config_map({"a": "1"}, managedFields=sent), old, by("other")
    )
    assert list(owned(entries)) == ["renamed"]


def test_owners_that_cannot_be_read_are_ignored() -> None:
    old = created(a_config_map({"a": "1"}))
    new = a_config_map({"a": "1"}, managedFields=[{"manager": "x"}])
    assert list(owned(track_update(at("ConfigMap"), new, old, by("other")))) == ["maker"]


def test_an_owner_in_a_version_that_does_not_exist_is_dropped() -> None:
    old = created(a_config_map({"a": "1"}))
    sent = [old["metadata"]["managedFields"][0] | {"apiVersion": "v0"}]
    new = a_config_map({"a": "1"}, managedFields=sent)
    assert track_update(at("ConfigMap"), new, old, by("other")) == []


def test_an_object_whose_fields_have_no_path_is_not_tracked() -> None:
    assert track_create(at("Pod"), a_pod(finalizers=[None]), by("maker")) == []


def test_a_write_that_leaves_nothing_but_another_time_is_no_change() -> None:
    old = created(a_config_map({"a": "1"}))
    [entry] = old["metadata"]["managedFields"]
    assert is_unchanged(a_config_map({"a": "1"}, managedFields=[entry | {"time": LATER}]), old)
    assert not is_unchanged(a_config_map({"a": "2"}, managedFields=[entry]), old)
    assert not is_unchanged(a_config_map({"a": "1"}), old)
