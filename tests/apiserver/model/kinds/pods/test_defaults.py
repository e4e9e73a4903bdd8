import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.pods.defaults import default_template
from tests.apiserver.model.kinds.pods.objects import a_container, a_pod, a_pod_with


def test_a_plain_pod_gets_what_the_api_promises() -> None:
    assert a_pod()["spec"] == {
        "containers": [
            {
                "name": "c",
                "image": "busybox:1.36",
                "imagePullPolicy": "IfNotPresent",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }


def test_a_template_gets_less_than_a_pod() -> None:
    limits = {"limits": {"cpu": "1"}}
    template = {"spec": {"containers": [a_container(resources=limits)]}}

    default_template(template)

    assert template["spec"]["containers"][0]["resources"] == limits
    assert "enableServiceLinks" not in template["spec"]


def test_limits_are_requested_where_nothing_else_is() -> None:
    resources = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m"}}

    pod = a_pod_with(resources=resources)

    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    assert requests == {"cpu": "100m", "memory": "1Gi"}


def test_a_pod_that_limits_itself_requests_what_its_containers_need() -> None:
    containers = [
        a_container("a", resources={"requests": {"cpu": "100m"}}),
        a_container("b", resources={"requests": {"cpu": "200m"}}),
    ]

    pod = a_pod(containers=containers, resources={"limits": {"cpu": "1", "memory": "1Gi"}})

    assert pod["spec"]["resources"]["requests"] == {"cpu": "300m", "memory": "1Gi"}


def test_ports_are_those_of_the_host_on_its_network() -> None:
    ports = [{"containerPort": 80}]

    pod = a_pod(hostNetwork=True, containers=[a_container(ports=ports)])

    assert pod["spec"]["containers"][0]["ports"] == [
        {"containerPort": 80, "hostPort": 80, "protocol": "TCP"}
    ]


def test_a_probe_asks_for_the_root_every_ten_seconds() -> None:
    pod = a_pod_with(livenessProbe={"httpGet": {"port": 80}})

    assert pod["spec"]["containers"][0]["livenessProbe"] == {
        "httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }


def test_a_negative_grace_period_becomes_one_second() -> None:
    assert a_pod(terminationGracePeriodSeconds=-5)["spec"]["terminationGracePeriodSeconds"] == 1


@pytest.mark.parametrize(
    ("given", "account"),
    [
        pytest.param({"serviceAccount": "old"}, "old", id="old-name-of-the-field"),
        pytest.param({"serviceAccountName": "new", "serviceAccount": "old"}, "new", id="both"),
    ],
)
def test_the_service_account_is_shown_under_both_names(given: Document, account: str) -> None:
    spec = a_pod(**given)["spec"]

    assert (spec["serviceAccount"], spec["serviceAccountName"]) == (account, account)
