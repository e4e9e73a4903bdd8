import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll.runtime.clock import SteppedClock
from plimsoll.wire.access import Access
from plimsoll.wire.credentials import PluginCredentials, TokenFile
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment, find_access
from plimsoll.wire.kubeconfig_files import KubeconfigError


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def a_config(
    name: str = "prod", user: dict[str, Any] | None = None, **cluster: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443/", **cluster}}],
        "users": [{"name": name, "user": user if user is not None else {"token": f"{name}-token"}}],
        "contexts": [
            {"name": name, "context": {"cluster": name, "user": name, "namespace": "apps"}}
        ],
    }


def write(path: Path, config: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(config))
    return path


def found(
    options: ConnectionOptions | None = None,
    environment: dict[str, str] | None = None,
    account: Path | None = None,
) -> Access:
    around = KubeconfigEnvironment(
        environment=environment or {},
        clock=SteppedClock(),
        service_account=account or Path("/nowhere"),
    )
    return find_access(options or ConnectionOptions(), around)


async def test_a_file_given_by_name_goes_before_everything_else(tmp_path: Path) -> None:
    given = write(tmp_path / "given", a_config("given"))
    other = write(tmp_path / "other", a_config("other"))
    access = found(ConnectionOptions(kubeconfig=str(given)), {"KUBECONFIG": str(other)})
    assert access.server == "https://given:6443"
    assert access.namespace == "apps"
    assert (await access.credentials.identity()).authorization == "Bearer given-token"
    assert str(given) in access.source


def test_files_of_the_environment_are_merged_and_the_first_counts(tmp_path: Path) -> None:
    first = write(tmp_path / "first", a_config("a") | {"current-context": ""})
    second = write(tmp_path / "second", a_config("b"))
    environment = {"KUBECONFIG": f"{tmp_path / 'missing'}:{first}:{second}"}
    assert found(environment=environment).server == "https://b:6443"
    assert found(ConnectionOptions(context="a"), environment).server == "https://a:6443"


def test_the_home_directory_is_searched_next(tmp_path: Path) -> None:
    write(tmp_path / ".kube" / "config", a_config("home"))
    assert found(environment={"HOME": str(tmp_path)}).server == "https://home:6443"


def test_inside_a_pod_the_service_account_is_used(tmp_path: Path) -> None:
    for name, content in (("token", "t"), ("ca.crt", "CA"), ("namespace", "kube-system")):
        (tmp_path / name).write_text(content)
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    access = found(environment=environment, account=tmp_path)
    assert access.server == "https://[fd00::1]:443"
    assert access.authority == b"CA"
    assert access.namespace == "kube-system"
    assert isinstance(access.credentials, TokenFile)


def test_paths_in_a_kubeconfig_start_from_its_own_directory(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(b"CA")
    config = write(
        tmp_path / "config", a_config("prod", None, **{"certificate-authority": "ca.pem"})
    )
    assert found(ConnectionOptions(kubeconfig=str(config))).authority == b"CA"


async def test_users_may_be_known_by_certificates_passwords_files_and_plugins(
    tmp_path: Path,
) -> None:
    def access(user: dict[str, Any]) -> Access:
        return found(
            ConnectionOptions(kubeconfig=str(write(tmp_path / "config", a_config(user=user))))
        )

    pair = access({"client-certificate-data": b64(b"C"), "client-key-data": b64(b"K")})
    certificate = (await pair.credentials.identity()).certificate
    assert certificate is not None
    assert (certificate.certificate, certificate.key) == (b"C", b"K")

    password = access({"username": "me", "password": "pw"})
    assert (await password.credentials.identity()).authorization == f"Basic {b64(b'me:pw')}"

    (tmp_path / "tok").write_text("from-file")
    file = access({"tokenFile": "tok"})
    assert (await file.credentials.identity()).authorization == "Bearer from-file"

    plugin = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "login"}
    assert isinstance(access({"exec": plugin}).credentials, PluginCredentials)

    anonymous = access({})
    assert (await anonymous.credentials.identity()).authorization == ""

    impersonating = access({"token": "t", "as": "ann", "as-groups": ["a", "b"]})
    assert impersonating.headers == (
        ("impersonate-user", "ann"),
        ("impersonate-group", "a"),
        ("impersonate-group", "b"),
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param({"current-context": ""}, "no current context.*known: prod", id="no-context"),
        pytest.param(
            {"current-context": "", "contexts": []}, "is it a kubeconfig?", id="another-file"
        ),
        pytest.param({"current-context": "x"}, 'no context "x".*known: prod', id="wrong-context"),
        pytest.param({"clusters": []}, 'no cluster "prod"', id="no-cluster"),
        pytest.param({"users": None}, 'no user "prod"', id="no-user"),
        pytest.param({"clusters": "x"}, "is not a kubeconfig", id="not-a-kubeconfig"),
        pytest.param(
            {"clusters": [{"name": "prod", "cluster": {"server": "prod:6443"}}]},
            "must be an http or https URL",
            id="no-url",
        ),
        pytest.param(
            {"users": [{"name": "prod", "user": {"auth-provider": {"name": "gcp"}}}]},
            "replace it by an exec plugin",
            id="dropped-provider",
        ),
        pytest.param(
            {"users": [{"name": "prod", "user": {"client-key-data": b64(b"K")}}]},
            "go together",
            id="half-a-pair",
        ),
        pytest.param(
            {"users": [{"name": "prod", "user": {"exec": {"apiVersion": "v0", "command": "x"}}}]},
            "version v0 are not supported",
            id="old-plugin",
        ),
        pytest.param(
            {
                "clusters": [
                    {
                        "name": "prod",
                        "cluster": {"server": "https://x", "certificate-authority": "no"},
                    }
                ]
            },
            "no cannot be read",
            id="missing-authority",
        ),
    ],
)
def test_what_is_wrong_is_said_with_the_file_and_the_remedy(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    path = write(tmp_path / "config", a_config() | change)
    with pytest.raises(KubeconfigError, match=said) as caught:
        found(ConnectionOptions(kubeconfig=str(path)))
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_missing_cluster_are_errors(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match=r"nothing cannot be read.*check --kubeconfig"):
        found(ConnectionOptions(kubeconfig=str(tmp_path / "nothing")))
    with pytest.raises(KubeconfigError, match="give --kubeconfig"):
        found()
    (tmp_path / "bad").write_text("users:\n- token: [s3cret")
    with pytest.raises(KubeconfigError, match="is not YAML: look at line 2") as caught:
        found(ConnectionOptions(kubeconfig=str(tmp_path / "bad")))
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("server", "environment", "proxy"),
    [
        ("https://prod:6443", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("https://localhost:6443", {"https_proxy": "http://p:1"}, ""),
        ("https://[::1]:6443", {"https_proxy": "http://p:1"}, ""),
        ("https://a.corp:6443", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "x,.corp"}, ""),
        ("http://prod", {"HTTPS_PROXY": "http://p:1"}, ""),
    ],
)
def test_a_proxy_is_used_only_where_the_environment_wants_it_and_never_for_this_machine(
    tmp_path: Path, server: str, environment: dict[str, str], proxy: str
) -> None:
    path = write(tmp_path / "config", a_config(server=server))
    assert found(ConnectionOptions(kubeconfig=str(path)), environment).proxy == proxy
