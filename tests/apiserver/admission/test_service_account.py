"""Every pod runs as an account of its namespace, and finds a token of it."""

import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.service_account import MOUNT_PATH, admit, check
from plimsoll.apiserver.model.kinds.access.service_account import MOUNTABLE
from plimsoll.apiserver.model.status import ApiError
from tests.apiserver.admission.requests import a_request, an_object


def an_account(name: str = "default", **fields: object) -> Document:
    account = an_object("ServiceAccount", name)
    return account | fields


def a_pod(**spec: object) -> Document:
    return an_object("Pod", spec={"containers": [{"name": "c"}], **spec})


def test_a_pod_gets_the_default_account_and_its_token() -> None:
    pod = a_pod(initContainers=[{"name": "i"}])
    admit(a_request(pod, an_account()))
    spec = pod["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    [volume] = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    sources = volume["projected"]["sources"]
    assert sources[0] == {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}}
    assert sources[1]["configMap"]["name"] == "kube-root-ca.crt"
    mount = {"name": volume["name"], "readOnly": True, "mountPath": MOUNT_PATH}
    assert spec["containers"][0]["volumeMounts"] == [mount]
    assert spec["initContainers"][0]["volumeMounts"] == [mount]


def test_an_account_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ApiError, match='serviceaccount "robot" not found') as refused:
        admit(a_request(a_pod(serviceAccountName="robot"), an_account()))
    assert refused.value.code == 403


@pytest.mark.parametrize(
    ("of_pod", "of_account", "mounted"),
    [(None, None, True), (None, False, False), (True, False, True), (False, True, False)],
)
def test_the_pod_decides_before_the_account(
    of_pod: bool | None,  # noqa: FBT001
    of_account: bool | None,  # noqa: FBT001
    *,
    mounted: bool,
) -> None:
    pod = a_pod() if of_pod is None else a_pod(automountServiceAccountToken=of_pod)
    account = an_account()
    if of_account is not None:
        account["automountServiceAccountToken"] = of_account
    admit(a_request(pod, account))
    assert ("volumes" in pod["spec"]) is mounted


def test_a_container_with_something_in_that_place_keeps_it() -> None:
    own = {"name": "own", "mountPath": MOUNT_PATH}
    pod = a_pod(containers=[{"name": "c", "volumeMounts": [own]}])
    admit(a_request(pod, an_account()))
    assert "volumes" not in pod["spec"]


def test_secrets_for_images_come_from_the_account_unless_the_pod_names_some() -> None:
    account = an_account(imagePullSecrets=[{"name": "registry"}])
    pod, other = a_pod(), a_pod(imagePullSecrets=[{"name": "own"}])
    admit(a_request(pod, account))
    admit(a_request(other, account))
    assert pod["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert other["spec"]["imagePullSecrets"] == [{"name": "own"}]


def test_an_account_may_insist_on_the_secrets_that_it_lists() -> None:
    account = an_account(secrets=[{"name": "listed"}])
    account["metadata"]["annotations"] = {MOUNTABLE: "true"}

    def using(secret: str) -> Document:
        volumes = [{"name": "v", "secret": {"secretName": secret}}]
        return a_pod(volumes=volumes, serviceAccountName="default")

    check(a_request(using("listed"), account))
    with pytest.raises(ApiError, match="does not reference that secret"):
        check(a_request(using("other"), account))


def test_an_ephemeral_container_has_no_secret_that_the_account_does_not_list() -> None:
    account = an_account(secrets=[{"name": "listed"}])
    account["metadata"]["annotations"] = {MOUNTABLE: "true"}
    pod = a_pod(serviceAccountName="default")

    def debugged(secret: str) -> Document:
        container = {"name": "d", "envFrom": [{"secretRef": {"name": secret}}]}
        return pod | {"spec": pod["spec"] | {"ephemeralContainers": [container]}}

    part = "ephemeralcontainers"
    check(a_request(debugged("listed"), account, old=pod, subresource=part))
    with pytest.raises(ApiError, match="does not reference that secret"):
        check(a_request(debugged("other"), account, old=pod, subresource=part))


def test_a_mirror_of_a_static_pod_is_left_alone() -> None:
    pod = a_pod()
    pod["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    admit(a_request(pod))
    assert "serviceAccountName" not in pod["spec"]
    check(a_request(pod))
    pod["spec"]["serviceAccountName"] = "default"
    with pytest.raises(ApiError, match="mirror pod may not reference service accounts"):
        check(a_request(pod))
