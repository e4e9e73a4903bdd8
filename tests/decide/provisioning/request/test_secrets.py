import pytest

from plimsoll.api.volumes import SecretReference
from plimsoll.decide.provisioning.failures import Problem, ProvisioningState, RefusalError
from plimsoll.decide.provisioning.request.secrets import (
    NODE_STAGE,
    PROVISIONER,
    Names,
    SecretUse,
    find_secret,
)

NAMES = Names(
    volume="pvc-1", claim="data", namespace="shop", annotations={"example.org/team": "red"}
)
PREFIX = "csi.storage.k8s.io/"


def pair(name: str, namespace: str, use: str = "provisioner-") -> dict[str, str]:
    return {f"{PREFIX}{use}secret-name": name, f"{PREFIX}{use}secret-namespace": namespace}


def find(parameters: dict[str, str], use: SecretUse = PROVISIONER) -> str | None:
    found = find_secret(use, parameters, NAMES)
    return None if found is None else f"{found.namespace}/{found.name}"


def problem(parameters: dict[str, str]) -> Problem:
    with pytest.raises(RefusalError) as refusal:
        find(parameters)
    assert refusal.value.failure.state is ProvisioningState.NO_CHANGE
    return refusal.value.failure.problem


def test_a_class_without_secrets_needs_none() -> None:
    assert find({"pool": "fast"}) is None


def test_a_secret_is_named_not_read() -> None:
    found = find_secret(PROVISIONER, pair("admin", "vault"), NAMES)

    assert found == SecretReference(name="admin", namespace="vault")


def test_the_pair_for_a_use_counts_before_the_default_pair() -> None:
    parameters = pair("admin", "vault") | pair("any", "vault", use="")

    assert find(parameters) == "vault/admin"
    assert find(parameters, NODE_STAGE) == "vault/any"


def test_older_keys_are_understood() -> None:
    old = {"csiProvisionerSecretName": "admin", "csiProvisionerSecretNamespace": "vault"}

    assert find(old) == "vault/admin"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("${pv.name}", "pvc-1"),
        ("${pvc.name}-key", "data-key"),
        ("${pvc.namespace}.${pvc.name}", "shop.data"),
        ("${pvc.annotations['example.org/team']}", "red"),
        ("key-${}x", "key-x"),
        ("key${", "key"),
    ],
)
def test_the_name_may_come_from_a_template(name: str, expected: str) -> None:
    assert find(pair(name, "vault")) == f"vault/{expected}"


def test_the_namespace_may_name_volume_and_namespace_only() -> None:
    assert find(pair("admin", "${pvc.namespace}")) == "shop/admin"
    assert find(pair("admin", "${pv.name}")) == "pvc-1/admin"
    assert problem(pair("admin", "${pvc.name}")) is Problem.SECRET_TEMPLATE
    in_namespace = pair("admin", "${pvc.annotations['example.org/team']}")
    assert problem(in_namespace) is Problem.SECRET_TEMPLATE


@pytest.mark.parametrize("name", ["${pvc.annotations['missing']}", "$name", "$$", "${pod.name}"])
def test_an_unknown_token_is_refused(name: str) -> None:
    assert problem(pair(name, "vault")) is Problem.SECRET_TEMPLATE


@pytest.mark.parametrize(
    ("name", "namespace", "expected"),
    [
        ("No_Name", "vault", Problem.SECRET_NAME),
        ("cost$", "vault", Problem.SECRET_NAME),
        ("admin", "two.parts", Problem.SECRET_NAMESPACE),
    ],
)
def test_what_cannot_be_a_name_is_refused(name: str, namespace: str, expected: Problem) -> None:
    assert problem(pair(name, namespace)) is expected


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({f"{PREFIX}provisioner-secret-name": "admin"}, id="no-namespace"),
        pytest.param({f"{PREFIX}provisioner-secret-namespace": "vault"}, id="no-name"),
        pytest.param(pair("", "vault"), id="empty-name"),
        pytest.param(pair("admin", "vault") | {"csiProvisionerSecretName": "x"}, id="twice"),
    ],
)
def test_name_and_namespace_belong_together(parameters: dict[str, str]) -> None:
    assert problem(parameters) is Problem.SECRET_PARAMETERS
