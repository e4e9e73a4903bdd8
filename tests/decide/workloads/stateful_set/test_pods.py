import pytest

from plimsoll.decide.workloads.revisions import Revision
from plimsoll.decide.workloads.stateful_set.pods import (
    claim_document,
    has_its_storage,
    identity_patch,
    is_member,
    ordinals_of,
    parent_and_ordinal,
    pod_document,
)
from tests.decide.workloads.objects import (
    LABELS,
    a_pod,
    a_stateful_pod,
    a_stateful_set,
    claim_template,
    template,
)

SET = a_stateful_set()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("web-0", ("web", 0)),
        ("web-a-12", ("web-a", 12)),
        ("web", ("", -1)),
        ("web-", ("", -1)),
        ("web-4294967296", ("web", -1)),
    ],
)
def test_a_name_tells_the_set_and_the_number(name: str, expected: tuple[str, int]) -> None:
    assert parent_and_ordinal(name) == expected


def test_only_pods_with_the_name_of_the_set_are_members() -> None:
    assert is_member(SET, a_pod("web-7"))
    assert not is_member(SET, a_pod("web-a-7"))
    assert not is_member(SET, a_pod("web"))


def test_numbers_begin_where_the_set_says() -> None:
    assert list(ordinals_of(a_stateful_set(ordinals={"start": 3}, replicas=2))) == [3, 4]


def test_a_volume_of_a_claim_replaces_the_one_of_the_template() -> None:
    volumes = [{"name": "data", "emptyDir": {}}, {"name": "cache", "emptyDir": {}}]
    revision = Revision(name="web-abc", hash="abc", template=template(volumes=volumes))
    pod = pod_document(SET, revision, 1)
    assert pod["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-1"}},
        {"name": "cache", "emptyDir": {}},
    ]
    assert pod["metadata"]["labels"] == LABELS | {
        "statefulset.kubernetes.io/pod-name": "web-1",
        "apps.kubernetes.io/pod-index": "1",
        "controller-revision-hash": "web-abc",
    }
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("web-1", "web")


def test_a_set_without_a_service_gives_no_subdomain() -> None:
    revision = Revision(name="web-abc", hash="abc", template=template())
    assert "subdomain" not in pod_document(a_stateful_set(serviceName=""), revision, 0)["spec"]


def test_a_claim_has_the_labels_of_its_template_and_of_the_selector() -> None:
    given = claim_template()
    given["metadata"]["labels"] = {"tier": "db"}
    claim = claim_document(SET, given, 2)
    assert claim["metadata"] == {
        "name": "data-web-2",
        "namespace": "default",
        "labels": {"tier": "db"} | LABELS,
    }
    assert claim["spec"] == given["spec"]


def test_a_pod_without_its_name_label_gets_it_back() -> None:
    assert identity_patch(a_stateful_pod(SET, 0, "r")) is None
    patch = identity_patch(a_pod("web-0"))
    assert patch is not None
    assert patch.patch["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "web-0"


def test_a_pod_with_other_claims_does_not_have_its_storage() -> None:
    assert has_its_storage(SET, a_stateful_pod(SET, 0, "r"))
    assert not has_its_storage(SET, a_pod("web-0"))
