from plimsoll.apiserver.admission.quota.usage import usage
from tests.apiserver.admission.requests import Objects, a_claim, an_object


def test_a_quota_can_be_told_what_is_used() -> None:
    limits = [
        "requests.storage",
        "persistentvolumeclaims",
        "slow.storageclass.storage.k8s.io/requests.storage",
        "fast.storageclass.storage.k8s.io/persistentvolumeclaims",
        "count/deployments.apps",
        "pods",
        "count/pods",
    ]
    quota = an_object("ResourceQuota", "q", spec={"hard": dict.fromkeys(limits, "9")})
    done = an_object("Pod", "done", status={"phase": "Succeeded"})
    elsewhere = a_claim("c") | {"metadata": {"name": "c", "namespace": "other"}}
    claims = [a_claim("a", "1Gi"), a_claim("b", "512Mi", "slow"), elsewhere]

    used = usage(quota, Objects(*claims, an_object("Pod", "p"), done))

    assert used == {
        "requests.storage": "1536Mi",
        "persistentvolumeclaims": "2",
        "slow.storageclass.storage.k8s.io/requests.storage": "512Mi",
        "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
        "count/deployments.apps": "0",
        "pods": "1",
        "count/pods": "2",
    }


def test_an_expansion_under_way_counts_in_full_and_fractions_as_whole_bytes() -> None:
    quota = an_object("ResourceQuota", "q", spec={"hard": {"requests.storage": "9Gi"}})
    growing = a_claim("a", "1Gi")
    growing["status"]["allocatedResources"] = {"storage": "2Gi"}

    assert usage(quota, Objects(growing)) == {"requests.storage": "2Gi"}
    assert usage(quota, Objects(a_claim("a", "1500m"))) == {"requests.storage": "2"}


def test_limits_on_compute_resources_are_not_counted() -> None:
    quota = an_object("ResourceQuota", "q", spec={"hard": {"requests.cpu": "1", "pods": "1"}})

    assert usage(quota, Objects()) == {"pods": "0"}
