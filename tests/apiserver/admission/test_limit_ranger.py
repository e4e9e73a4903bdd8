from typing import Any

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Operation
from plimsoll.apiserver.admission.limit_ranger import admit, check
from plimsoll.apiserver.model.status import ApiError
from tests.apiserver.admission.requests import a_claim, a_request, an_object


def a_limit_range(kind: str, **bounds: Any) -> Document:
    return an_object("LimitRange", "lr", spec={"limits": [{"type": kind} | bounds]})


def a_pod(*containers: Document, **spec: Any) -> Document:
    return an_object("Pod", spec={"containers": list(containers)} | spec)


def a_container(
    requests: dict[str, str] | None = None, limits: dict[str, str] | None = None, **more: str
) -> Document:
    return {"name": "c", "resources": {"requests": requests or {}, "limits": limits or {}}} | more


CLAIM_SIZES = a_limit_range("PersistentVolumeClaim", min={"storage": "1Gi"}, max={"storage": "2Gi"})


@pytest.mark.parametrize(
    ("size", "why"),
    [
        ("1Mi", "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi"),
        ("3Gi", "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"),
    ],
)
def test_a_claim_is_neither_too_small_nor_too_large(size: str, why: str) -> None:
    with pytest.raises(ApiError, match=why) as refused:
        check(a_request(a_claim(size=size), CLAIM_SIZES))

    assert refused.value.code == 403
    assert str(refused.value).startswith('persistentvolumeclaims "data" is forbidden: ')


def test_claims_are_measured_when_they_grow_too_but_not_while_they_end() -> None:
    ending = a_claim()
    ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    check(a_request(a_claim(size="2048Mi"), CLAIM_SIZES, old=a_claim()))
    check(a_request(a_claim(size="3Gi"), CLAIM_SIZES, old=ending))
    check(a_request(a_claim(size="3Gi"), CLAIM_SIZES, operation=Operation.DELETE))
    with pytest.raises(ApiError):
        check(a_request(a_claim(size="3Gi"), CLAIM_SIZES, old=a_claim()))


def test_ranges_of_other_namespaces_do_not_count() -> None:
    elsewhere = CLAIM_SIZES | {"metadata": {"name": "lr", "namespace": "other"}}

    check(a_request(a_claim(size="3Gi"), elsewhere))


def test_containers_get_what_they_did_not_ask_for() -> None:
    limit_range = a_limit_range(
        "Container",
        default={"cpu": "1", "memory": "1Gi"},
        defaultRequest={"cpu": "500m"},
    )
    pod = a_pod(a_container(limits={"cpu": "2"}), initContainers=[{"name": "i"}])

    admit(a_request(pod, limit_range))

    assert pod["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "500m"},
        "limits": {"cpu": "2", "memory": "1Gi"},
    }
    assert pod["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: "
        "cpu request for container c; memory limit for container c; "
        "cpu request for init container i; cpu, memory limit for init container i"
    }


@pytest.mark.parametrize(
    ("bounds", "container", "why"),
    [
        ({"min": {"cpu": "1"}}, a_container(), "No request is specified"),
        ({"min": {"cpu": "1"}}, a_container({"cpu": "1"}, {"cpu": "500m"}), "but limit is 500m"),
        ({"max": {"cpu": "1"}}, a_container({"cpu": "1"}), "No limit is specified"),
        ({"max": {"cpu": "1"}}, a_container({}, {"cpu": "2"}), "but limit is 2"),
        ({"max": {"cpu": "1"}}, a_container({"cpu": "2"}, {"cpu": "1"}), "but request is 2"),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            a_container({"cpu": "100m"}, {"cpu": "250m"}),
            "but provided ratio is 2.500000",
        ),
        ({"maxLimitRequestRatio": {"cpu": "2"}}, a_container(), "no request is specified"),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            a_container({"cpu": "1"}),
            "no limit is specified",
        ),
    ],
)
def test_a_container_out_of_bounds_is_refused(
    bounds: Document, container: Document, why: str
) -> None:
    with pytest.raises(ApiError, match=why):
        check(a_request(a_pod(container), a_limit_range("Container", **bounds)))


def test_a_pod_is_measured_by_what_runs_at_the_same_time() -> None:
    limit_range = a_limit_range("Pod", max={"cpu": "3"})
    one = a_container({"cpu": "1"}, {"cpu": "1"})
    two = a_container({"cpu": "2"}, {"cpu": "2"})
    sidecar = one | {"restartPolicy": "Always"}

    check(a_request(a_pod(one, two), limit_range))
    check(a_request(a_pod(one, one, initContainers=[two, sidecar]), limit_range))
    with pytest.raises(ApiError, match="maximum cpu usage per Pod is 3, but limit is 4"):
        check(a_request(a_pod(one, two, initContainers=[sidecar]), limit_range))
    with pytest.raises(ApiError, match="but limit is 4"):
        check(a_request(a_pod(one, initContainers=[sidecar, sidecar, two]), limit_range))
