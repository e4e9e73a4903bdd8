import msgspec
import pytest

from plimsoll.api.core import Service, ServiceSpec
from plimsoll.api.meta import ApiObject, OwnerReference
from plimsoll.api.pods import Pod, TopologySpreadConstraint
from plimsoll.api.selectors.label import LabelSelectorSpec
from plimsoll.api.workloads import (
    ReplicaSet,
    ReplicaSpec,
    ReplicationController,
    ReplicationControllerSpec,
    StatefulSet,
    StatefulSetSpec,
)
from plimsoll.decide.scheduling.rules.pod_topology_spread.constraints import HARD, SOFT
from plimsoll.decide.scheduling.rules.pod_topology_spread.default_constraints import (
    SpreadDefaults,
    constraints_of,
    workload_selector,
)
from tests.builders import HOSTNAME, ZONE, a_pod, meta
from tests.decide.scheduling.builders import a_cluster
from tests.decide.scheduling.rules.pod_topology_spread.builders import a_constraint, a_spread_pod

WEB_OF_SET = LabelSelectorSpec(match_labels={"app": "web", "hash": "1"})
SETS: dict[str, ApiObject] = {
    "ReplicaSet": ReplicaSet(metadata=meta("w", "default"), spec=ReplicaSpec(selector=WEB_OF_SET)),
    "StatefulSet": StatefulSet(
        metadata=meta("w", "default"), spec=StatefulSetSpec(selector=WEB_OF_SET)
    ),
    "ReplicationController": ReplicationController(
        metadata=meta("w", "default"),
        spec=ReplicationControllerSpec(selector=WEB_OF_SET.match_labels),
    ),
}


def owned(kind: str, version: str = "apps/v1") -> Pod:
    pod = a_pod(labels={"app": "web", "hash": "1"})
    owner = OwnerReference(api_version=version, kind=kind, name="w", uid="u", controller=True)
    metadata = msgspec.structs.replace(pod.metadata, owner_references=(owner,))
    return msgspec.structs.replace(pod, metadata=metadata)


def a_service(name: str = "web", namespace: str = "default", **selector: str) -> Service:
    return Service(metadata=meta(name, namespace), spec=ServiceSpec(selector=selector))


def selector(pod: Pod, *objects: ApiObject) -> str:
    return str(workload_selector(pod, a_cluster(*objects)))


@pytest.mark.parametrize("kind", SETS)
def test_pods_of_one_controller_are_alike(kind: str) -> None:
    version = "v1" if kind == "ReplicationController" else "apps/v1"

    assert selector(owned(kind, version), *SETS.values()) == "app=web,hash=1"
    assert selector(owned(kind, "other/v1"), *SETS.values()) == ""
    assert selector(owned(kind, version)) == ""


def test_pods_of_all_services_that_select_the_pod_are_alike() -> None:
    services = [
        a_service("a", app="web"),
        a_service("b", hash="1"),
        a_service("c", app="db"),
        a_service("d"),
        a_service("e", "other", app="web"),
    ]

    assert selector(a_pod(labels={"app": "web", "hash": "1"}), *services) == "app=web,hash=1"
    assert selector(a_pod(labels={"app": "db"}), *services) == "app=db"
    assert selector(owned("ReplicaSet"), *services, SETS["ReplicaSet"]).count("app=web") == 2


def test_pods_of_a_workload_are_spread_softly_over_nodes_and_zones() -> None:
    view = a_cluster(SETS["ReplicaSet"])

    found = constraints_of(owned("ReplicaSet"), view, SOFT)

    assert [(each.topology_key, each.max_skew) for each in found] == [(HOSTNAME, 3), (ZONE, 5)]
    assert {str(each.pods) for each in found} == {"app=web,hash=1"}
    assert constraints_of(owned("ReplicaSet"), view, HARD) == ()
    assert constraints_of(a_pod(), view, SOFT) == ()


def test_a_pod_with_constraints_of_its_own_gets_no_others() -> None:
    view = a_cluster(a_service(app="web"))

    assert constraints_of(a_spread_pod(a_constraint()), view, SOFT) == ()


def test_other_defaults_may_be_hard() -> None:
    zone = TopologySpreadConstraint(topology_key=ZONE, max_skew=1, when_unsatisfiable=HARD)
    defaults = SpreadDefaults((zone,), needs_all_keys=True)
    view = a_cluster(a_service(app="web"))

    (found,) = constraints_of(a_pod(labels={"app": "web"}), view, HARD, defaults)

    assert (found.topology_key, str(found.pods)) == (ZONE, "app=web")
