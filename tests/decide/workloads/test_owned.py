from datetime import timedelta

import pytest

from plimsoll.api.meta import OwnerReference
from plimsoll.api.pods import Pod
from plimsoll.api.workloads import ReplicaSet
from plimsoll.decide.plan import Patch
from plimsoll.decide.resources import PODS
from plimsoll.decide.workloads.owned import (
    REPLICA_SET,
    STATEFUL_SET,
    Membership,
    decide_membership,
    seen_as_leaving,
)
from tests.decide.workloads.objects import NOW, a_pod, a_replica_set, owned_by

SET = a_replica_set("web")
STRANGER = OwnerReference(
    api_version="apps/v1", kind="ReplicaSet", name="x", uid="x", controller=True
)


def membership(*pods: Pod, owner: ReplicaSet = SET) -> Membership[Pod]:
    return decide_membership(
        owner,
        pods,
        of=(REPLICA_SET, PODS),
        matches=lambda pod: pod.labels.get("app") == "web",
    )


def test_what_a_workload_owns_and_selects_belongs_to_it() -> None:
    own = a_pod("own", owner_references=owned_by(REPLICA_SET, SET))
    found = membership(own)
    assert found.members == (own,)
    assert found.plan.writes == ()


def test_an_orphan_that_matches_is_adopted_and_keeps_its_other_owners() -> None:
    other = OwnerReference(api_version="v1", kind="ConfigMap", name="c", uid="c")
    found = membership(a_pod("orphan", owner_references=(other,)))
    (write,) = found.plan.writes
    assert isinstance(write, Patch)
    assert found.adopts
    assert found.members == ()
    names = [o["name"] for o in write.patch["metadata"]["ownerReferences"]]
    assert names == ["c", "web"]
    assert (write.version, write.uid) == ("7", "uid-orphan")


def test_what_matches_no_longer_is_let_go_of() -> None:
    own = a_pod("own", labels={}, owner_references=owned_by(REPLICA_SET, SET))
    found = membership(own)
    (write,) = found.plan.writes
    assert isinstance(write, Patch)
    assert write.patch == {"metadata": {"ownerReferences": []}}
    assert not found.adopts


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_pod("other", owner_references=(STRANGER,)), id="owned-by-another"),
        pytest.param(a_pod("other", labels={}), id="does-not-match"),
        pytest.param(a_pod("other", deletion_timestamp=NOW), id="is-being-deleted"),
        pytest.param(a_pod("other", namespace="elsewhere"), id="in-another-namespace"),
    ],
)
def test_others_are_left_alone(pod: Pod) -> None:
    assert membership(pod) == Membership(members=())


def test_a_workload_that_is_being_deleted_neither_adopts_nor_releases() -> None:
    gone = a_replica_set("web", deletion_timestamp=NOW)
    own = a_pod("own", labels={}, owner_references=owned_by(REPLICA_SET, SET))
    assert membership(a_pod("orphan"), own, owner=gone) == Membership(members=())


def test_a_pod_that_was_deleted_is_shown_as_leaving() -> None:
    pod = a_pod("x", creation_timestamp=NOW - timedelta(hours=1))
    assert seen_as_leaving(pod).is_being_deleted


def test_kinds_are_told_apart_by_group_not_by_version() -> None:
    reference = OwnerReference(api_version="apps/v1beta2", kind="StatefulSet", name="web", uid="u")
    assert STATEFUL_SET.owns(reference)
    assert not REPLICA_SET.owns(reference)
    other = OwnerReference(api_version="example.com/v1", kind="StatefulSet", name="web", uid="u")
    assert not STATEFUL_SET.owns(other)
