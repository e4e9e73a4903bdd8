import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Operation
from plimsoll.apiserver.admission.quota.resource_quota import check
from plimsoll.apiserver.model.status import ApiError
from tests.apiserver.admission.requests import a_claim, a_pod, a_request, an_object


def a_quota(**hard: str) -> Document:
    return an_object("ResourceQuota", "q", spec={"hard": hard})


def test_a_claim_beyond_the_storage_of_a_namespace_is_refused() -> None:
    quota = a_quota(**{"requests.storage": "3Gi", "persistentvolumeclaims": "9"})

    with pytest.raises(ApiError) as refused:
        check(a_request(a_claim("b", "2Gi"), quota, a_claim("a", "2Gi")))

    assert refused.value.code == 403
    assert str(refused.value) == (
        'persistentvolumeclaims "b" is forbidden: exceeded quota: q, '
        "requested: requests.storage=2Gi, used: requests.storage=2Gi, limited: requests.storage=3Gi"
    )


def test_the_last_bit_of_a_quota_can_be_used() -> None:
    check(a_request(a_claim("b"), a_quota(**{"requests.storage": "2Gi"}), a_claim("a")))


def test_storage_is_limited_class_by_class() -> None:
    quota = a_quota(**{"fast.storageclass.storage.k8s.io/requests.storage": "1Gi"})

    check(a_request(a_claim("b", "9Gi", "slow"), quota, a_claim("a")))
    with pytest.raises(ApiError, match=r"requested: fast\.storageclass\.storage\.k8s\.io"):
        check(a_request(a_claim("b"), quota, a_claim("a")))


def test_only_what_a_claim_grows_by_is_charged() -> None:
    quota = a_quota(**{"requests.storage": "3Gi"})

    check(a_request(a_claim("a", "3Gi"), quota, a_claim("a", "2Gi"), old=a_claim("a", "2Gi")))
    check(a_request(a_claim("a", "4Gi"), quota, a_claim("a", "5Gi"), old=a_claim("a", "5Gi")))
    with pytest.raises(ApiError, match=r"requested: requests\.storage=2Gi"):
        check(a_request(a_claim("a", "4Gi"), quota, a_claim("a", "2Gi"), old=a_claim("a", "2Gi")))


@pytest.mark.parametrize(
    ("limit", "kind"),
    [
        ("pods", "Pod"),
        ("configmaps", "ConfigMap"),
        ("count/statefulsets.apps", "StatefulSet"),
        ("count/persistentvolumeclaims", "PersistentVolumeClaim"),
    ],
)
def test_objects_are_counted(limit: str, kind: str) -> None:
    first, second = an_object(kind, "a"), an_object(kind, "b")

    check(a_request(first, a_quota(**{limit: "1"})))
    with pytest.raises(ApiError, match=f"exceeded quota: q, requested: {limit}=1, used: {limit}=1"):
        check(a_request(second, a_quota(**{limit: "1"}), first))


def test_what_takes_nothing_more_is_let_through() -> None:
    full = a_quota(**{"pods": "0", "requests.storage": "0"})
    pod = an_object("Pod")

    check(a_request(pod, full, old=pod))
    check(a_request(a_claim(), full, operation=Operation.DELETE))
    check(a_request(a_claim(), full, old=a_claim(), subresource="status"))
    check(a_request(an_object("ConfigMap"), full))
    check(a_request(an_object("StorageClass"), full))


def test_quotas_of_other_namespaces_do_not_count() -> None:
    elsewhere = a_quota(pods="0") | {"metadata": {"name": "q", "namespace": "other"}}

    check(a_request(an_object("Pod"), elsewhere))


def test_a_quota_with_a_scope_looks_only_at_what_is_in_it() -> None:
    quota = a_quota(pods="0")
    quota["spec"]["scopes"] = ["Terminating"]

    check(a_request(an_object("Pod", spec={}), quota))
    with pytest.raises(ApiError, match="exceeded quota"):
        check(a_request(an_object("Pod", spec={"activeDeadlineSeconds": 1}), quota))


def a_service(type_: str, *node_ports: int, **spec: object) -> Document:
    ports = [{"port": 80 + i, "nodePort": port} for i, port in enumerate(node_ports)]
    return an_object("Service", "s", spec={"type": type_, "ports": ports} | spec)


@pytest.mark.parametrize(
    ("service", "limit", "requested"),
    [
        (a_service("NodePort", 0, 0), "services.nodeports", 2),
        (a_service("LoadBalancer", 0), "services.nodeports", 1),
        (a_service("LoadBalancer"), "services.loadbalancers", 1),
        (
            a_service("LoadBalancer", 0, 30000, allocateLoadBalancerNodePorts=False),
            "services.nodeports",
            1,
        ),
    ],
)
def test_ports_and_balancers_of_services_are_counted(
    service: Document, limit: str, requested: int
) -> None:
    with pytest.raises(ApiError, match=f"requested: {limit}={requested},"):
        check(a_request(service, a_quota(**{limit: "0"})))


def test_a_service_that_becomes_a_balancer_is_counted_then() -> None:
    plain, balancer = a_service("ClusterIP", 0), a_service("LoadBalancer", 0)
    quota = a_quota(**{"services.loadbalancers": "0", "services": "1"})
    check(a_request(balancer, quota, balancer, old=balancer))
    with pytest.raises(ApiError, match="exceeded quota"):
        check(a_request(balancer, quota, plain, old=plain))


def test_a_pod_beyond_the_cpu_of_a_namespace_is_refused() -> None:
    quota = a_quota(**{"requests.cpu": "2"})
    running = a_pod("a", {"requests": {"cpu": "1500m"}})

    check(a_request(a_pod("b", {"requests": {"cpu": "500m"}}), quota, running))
    with pytest.raises(ApiError) as refused:
        check(a_request(a_pod("b", {"requests": {"cpu": "501m"}}), quota, running))

    assert str(refused.value) == (
        'pods "b" is forbidden: exceeded quota: q, '
        "requested: requests.cpu=501m, used: requests.cpu=1500m, limited: requests.cpu=2"
    )


def test_a_pod_must_say_what_a_quota_limits() -> None:
    with pytest.raises(ApiError) as refused:
        check(a_request(a_pod("b"), a_quota(**{"limits.cpu": "2"})))

    assert str(refused.value) == (
        'pods "b" is forbidden: failed quota: q: must specify limits.cpu for: c'
    )


def test_a_pod_grows_into_a_quota_by_a_resize() -> None:
    quota = a_quota(**{"requests.cpu": "2"})
    small, large = (a_pod("a", {"requests": {"cpu": cpu}}) for cpu in ("1", "3"))

    with pytest.raises(ApiError, match=r"requested: requests\.cpu=2, used: requests\.cpu=1,"):
        check(a_request(large, quota, small, old=small, subresource="resize"))


def test_a_pod_comes_into_a_quota_when_its_time_is_limited() -> None:
    quota = a_quota(pods="0")
    quota["spec"]["scopes"] = ["Terminating"]

    check(a_request(a_pod("a"), quota, a_pod("a"), old=a_pod("a")))
    with pytest.raises(ApiError, match="exceeded quota"):
        check(a_request(a_pod("a", activeDeadlineSeconds=5), quota, a_pod("a"), old=a_pod("a")))
