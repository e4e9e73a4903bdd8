import msgspec

from plimsoll.api.core import Service, ServiceSpec
from plimsoll.api.meta import ObjectKey
from plimsoll.api.selectors.label import LabelSelectorSpec
from plimsoll.api.workloads import ReplicaSet, ReplicaSpec, ReplicaStatus
from plimsoll.decide.scheduling.columns.pods.workloads import WorkloadSelectors
from tests.builders import a_pod, meta

KEY = "ReplicaSet", ObjectKey("default", "web")


def a_service(name: str, **selector: str) -> Service:
    return Service(metadata=meta(name, "default"), spec=ServiceSpec(selector=selector))


def a_replica_set(**selector: str) -> ReplicaSet:
    spec = ReplicaSpec(selector=LabelSelectorSpec(match_labels=selector) if selector else None)
    return ReplicaSet(metadata=meta("web", "default"), spec=spec)


def test_services_are_found_by_the_labels_of_a_pod() -> None:
    workloads = WorkloadSelectors()
    for service in (a_service("b", app="web"), a_service("a", tier="x"), a_service("c", app="db")):
        workloads.put_service(service)
    pod = a_pod(labels={"app": "web", "tier": "x"})

    assert workloads.services_selecting(pod) == [{"tier": "x"}, {"app": "web"}]
    workloads.put_service(a_service("b", app="db"))
    workloads.remove_service(ObjectKey("default", "c"))
    assert workloads.services_selecting(pod) == [{"tier": "x"}]
    assert workloads.services_selecting(a_pod(namespace="other", labels=pod.labels)) == []


def test_a_status_is_no_news_and_another_selector_is() -> None:
    workloads = WorkloadSelectors()
    set_ = a_replica_set(app="web")
    workloads.put(set_)
    stamp = workloads.stamp

    workloads.put(msgspec.structs.replace(set_, status=ReplicaStatus(replicas=3)))
    assert workloads.stamp == stamp
    workloads.put(a_replica_set(app="db"))
    assert workloads.stamp != stamp
    assert workloads.get(KEY) == LabelSelectorSpec(match_labels={"app": "db"})
    workloads.put(a_replica_set())
    assert workloads.get(KEY) is None


def test_a_fork_goes_its_own_way() -> None:
    workloads = WorkloadSelectors()
    workloads.put(a_replica_set(app="web"))
    fork = workloads.fork()

    fork.put_service(a_service("a", app="web"))
    fork.remove(a_replica_set())

    assert workloads.get(KEY) is not None
    assert workloads.services_selecting(a_pod(labels={"app": "web"})) == []
    assert fork.get(KEY) is None
    assert fork.services_selecting(a_pod(labels={"app": "web"})) == [{"app": "web"}]
