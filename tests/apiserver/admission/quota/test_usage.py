from plimsoll.apiserver.admission.quota.usage import usage
from tests.apiserver.admission.requests import Objects, a_claim, a_pod, an_object


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


def test_what_pods_ask_of_nodes_is_counted_until_they_end() -> None:
    limits = ["cpu", "requests.cpu", "limits.memory", "requests.example.com/gpu", "pods"]
    quota = an_object("ResourceQuota", "q", spec={"hard": dict.fromkeys(limits, "9")})
    asked = {"requests": {"cpu": "500m", "example.com/gpu": "2"}, "limits": {"memory": "1Gi"}}
    pods = [
        a_pod("a", asked),
        a_pod("b", {"requests": {"cpu": "1"}}),
        a_pod("done", asked) | {"status": {"phase": "Failed"}},
    ]

    assert usage(quota, Objects(*pods)) == {
        "cpu": "1500m",
        "requests.cpu": "1500m",
        "limits.memory": "1Gi",
        "requests.example.com/gpu": "2",
        "pods": "2",
    }


def test_devices_of_a_class_are_not_counted() -> None:
    devices = "gpu.deviceclass.resource.k8s.io/devices"
    quota = an_object("ResourceQuota", "q", spec={"hard": {devices: "1", "pods": "1"}})

    assert usage(quota, Objects()) == {"pods": "0"}
