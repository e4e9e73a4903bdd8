import pytest

from tests.apiserver.model.kinds.pods.objects import a_container, a_pod, a_pod_with, complaints

USER_PATH = "spec.containers[0].securityContext.windowsOptions.runAsUserName"


def test_a_windows_pod_has_nothing_of_linux() -> None:
    container = a_container(securityContext={"privileged": True})
    pod = a_pod(
        os={"name": "windows"}, containers=[container], securityContext={"fsGroup": 1}, hostPID=True
    )

    assert complaints(pod) == {
        ("Forbidden", "spec.hostPID"): 1,
        ("Forbidden", "spec.securityContext.fsGroup"): 1,
        ("Forbidden", "spec.containers[0].securityContext.privileged"): 1,
    }


def test_a_linux_pod_has_nothing_of_windows() -> None:
    context = {"windowsOptions": {"runAsUserName": "u"}}

    assert complaints(a_pod(os={"name": "linux"}, securityContext=context)) == {
        ("Forbidden", "spec.securityContext.windowsOptions"): 1
    }


@pytest.mark.parametrize("name", ["user", "DOMAIN\\user", "example.com\\user"])
def test_users_of_windows_may_have_a_domain(name: str) -> None:
    context = {"windowsOptions": {"runAsUserName": name}}

    assert not complaints(a_pod_with(securityContext=context))


@pytest.mark.parametrize("name", ["", "a\\b\\c", "\\user", "a/b", "..."])
def test_odd_names_of_users_are_refused(name: str) -> None:
    context = {"windowsOptions": {"runAsUserName": name}}

    assert complaints(a_pod_with(securityContext=context)) == {("Invalid", USER_PATH): 1}


def test_processes_of_the_host_need_its_network() -> None:
    context = {"windowsOptions": {"hostProcess": True}}

    assert not complaints(a_pod(securityContext=context, hostNetwork=True))
    assert complaints(a_pod(securityContext=context)) == {("Invalid", "spec.hostNetwork"): 1}
