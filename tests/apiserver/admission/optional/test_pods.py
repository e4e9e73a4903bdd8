import pytest

from plimsoll.apiserver.admission.optional.pods import (
    check_anti_affinity,
    pull_always,
    tolerate_extended_resources,
)
from plimsoll.apiserver.model.status import ApiError
from tests.apiserver.admission.requests import a_request, an_object


def test_images_are_always_pulled() -> None:
    pod = an_object("Pod", spec={"containers": [{"name": "c", "imagePullPolicy": "Never"}]})
    pull_always(a_request(pod))
    assert pod["spec"]["containers"][0]["imagePullPolicy"] == "Always"


def test_a_pod_tolerates_the_taints_of_what_it_asks_for() -> None:
    requests = {"requests": {"cpu": "1", "example.com/gpu": "1"}}
    pod = an_object("Pod", spec={"containers": [{"name": "c", "resources": requests}]})
    tolerate_extended_resources(a_request(pod))
    tolerate_extended_resources(a_request(pod))
    assert pod["spec"]["tolerations"] == [
        {"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    ]


def test_others_are_kept_away_from_a_node_and_not_from_a_zone() -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    pod = an_object("Pod", spec={"affinity": {"podAntiAffinity": {required: []}}})
    terms = pod["spec"]["affinity"]["podAntiAffinity"][required]
    terms.append({"topologyKey": "kubernetes.io/hostname"})
    check_anti_affinity(a_request(pod))
    terms.append({"topologyKey": "topology.kubernetes.io/zone"})
    with pytest.raises(ApiError, match=r"only key kubernetes\.io/hostname is allowed"):
        check_anti_affinity(a_request(pod))
