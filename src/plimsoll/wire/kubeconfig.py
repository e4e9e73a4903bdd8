"""Finds the API server to connect to, and the credentials for it.

In this order: the file given on the command line; the files of KUBECONFIG, merged as kubectl
merges them; `~/.kube/config`; the service account of the pod we run in. Every error names the
file and what to do about it.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from plimsoll.runtime.clock import Clock
from plimsoll.wire.access import Access
from plimsoll.wire.credentials import (
    ClientCertificate,
    Credentials,
    FixedCredentials,
    Identity,
    PluginCredentials,
    PluginSpec,
    TokenFile,
    basic,
    bearer,
)
from plimsoll.wire.kubeconfig_files import (
    CredentialPlugin,
    Kubeconfig,
    KubeconfigCluster,
    KubeconfigError,
    KubeconfigUser,
    read_kubeconfig,
)

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PLUGIN_VERSIONS = (
    "client.authentication.k8s.io/v1",
    "client.authentication.k8s.io/v1beta1",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOptions:
    """What the user asked for; empty means the default."""

    kubeconfig: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeconfigEnvironment:
    """What finding a cluster depends on beside the user's options."""

    environment: Mapping[str, str]
    clock: Clock
    service_account: Path = SERVICE_ACCOUNT


def find_access(options: ConnectionOptions, machine: KubeconfigEnvironment) -> Access:
    files = _files(options, machine)
    if files:
        return _from_kubeconfig(read_kubeconfig(files), options.context, machine)
    if "KUBERNETES_SERVICE_HOST" in machine.environment:
        return _from_service_account(machine)
    raise KubeconfigError(
        "no cluster is configured: give --kubeconfig, set KUBECONFIG or write ~/.kube/config"
    )


def _files(options: ConnectionOptions, machine: KubeconfigEnvironment) -> list[Path]:
    if options.kubeconfig:
        return [Path(options.kubeconfig)]
    listed = [Path(p) for p in machine.environment.get("KUBECONFIG", "").split(":") if p]
    if listed:
        # As with kubectl, missing files are passed over; when all are missing, that is an error.
        return [path for path in listed if path.exists()] or listed
    home = machine.environment.get("HOME", "")
    default = Path(home, ".kube", "config")
    return [default] if home and default.exists() else []


def _from_kubeconfig(config: Kubeconfig, wanted: str, machine: KubeconfigEnvironment) -> Access:
    name = wanted or config.current_context
    if not name:
        if not config.contexts:
            raise KubeconfigError(
                f"{config.source}: there is no context in it; is it a kubeconfig?"
            )
        known = ", ".join(sorted(config.contexts))
        raise KubeconfigError(
            f"{config.source}: no current context; choose one with --context (known: {known})"
        )
    context = config.entry(config.contexts, "context", name)
    cluster = config.entry(config.clusters, "cluster", context.cluster)
    user = config.entry(config.users, "user", context.user) if context.user else KubeconfigUser()
    source = f"kubeconfig {config.source}, context {name}"
    if urlsplit(cluster.server).scheme not in ("http", "https"):
        raise KubeconfigError(
            f'{source}: the server of cluster "{context.cluster}" must be an http or https URL'
        )
    return Access(
        source=source,
        server=cluster.server.rstrip("/"),
        credentials=_credentials(source, user, cluster, machine),
        authority=_authority(source, cluster),
        verifies_server=not cluster.insecure_skip_tls_verify,
        server_name=cluster.tls_server_name,
        proxy=cluster.proxy_url or _proxy(cluster.server, machine.environment),
        namespace=context.namespace or "default",
        headers=_impersonation(user),
    )


def _from_service_account(machine: KubeconfigEnvironment) -> Access:
    token, authority = machine.service_account / "token", machine.service_account / "ca.crt"
    namespace = machine.service_account / "namespace"
    host = machine.environment["KUBERNETES_SERVICE_HOST"]
    port = machine.environment.get("KUBERNETES_SERVICE_PORT", "443")
    shown = f"[{host}]" if ":" in host else host
    source = f"service account {machine.service_account}"
    for needed in (token, authority):
        if not needed.exists():
            raise KubeconfigError(
                f"{source}: {needed.name} is missing; let the pod mount its service account token "
                "or give --kubeconfig"
            )
    return Access(
        source=source,
        server=f"https://{shown}:{port}",
        credentials=TokenFile(token, machine.clock),
        authority=authority.read_bytes(),
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
    )


def _credentials(
    source: str, user: KubeconfigUser, cluster: KubeconfigCluster, machine: KubeconfigEnvironment
) -> Credentials:
    certificate = _certificate(source, user)
    if user.token_file:
        return TokenFile(Path(user.token_file), machine.clock, certificate)
    if user.token:
        return _fixed(bearer(user.token), certificate)
    if user.username:
        return _fixed(basic(user.username, user.password), certificate)
    if user.exec is not None:
        spec = _plugin(source, user.exec, cluster, machine.environment)
        return PluginCredentials(spec, machine.clock)
    if user.auth_provider is not None and certificate is None:
        raise KubeconfigError(
            f"{source}: the user's auth-provider is a form that Kubernetes has dropped; "
            "replace it by an exec plugin"
        )
    return _fixed("", certificate)


def _fixed(authorization: str, certificate: ClientCertificate | None) -> Credentials:
    return FixedCredentials(Identity(authorization=authorization, certificate=certificate))


def _certificate(source: str, user: KubeconfigUser) -> ClientCertificate | None:
    chain = _pem(source, user.client_certificate_data, user.client_certificate)
    key = _pem(source, user.client_key_data, user.client_key)
    if chain is None and key is None:
        return None
    if chain is None or key is None:
        raise KubeconfigError(f"{source}: client-certificate and client-key go together")
    return ClientCertificate(chain, key)


def _plugin(
    source: str,
    plugin: CredentialPlugin,
    cluster: KubeconfigCluster,
    environment: Mapping[str, str],
) -> PluginSpec:
    if plugin.api_version not in PLUGIN_VERSIONS:
        raise KubeconfigError(
            f"{source}: exec plugins of version {plugin.api_version} are not supported; "
            f"use {PLUGIN_VERSIONS[0]}"
        )
    if plugin.interactive_mode == "Always":
        raise KubeconfigError(f"{source}: the exec plugin wants to ask questions; no user is there")
    return PluginSpec(
        api_version=plugin.api_version,
        command=plugin.command,
        arguments=plugin.args or (),
        environment={**environment, **{v.name: v.value for v in plugin.env or ()}},
        install_hint=plugin.install_hint,
        cluster=_cluster_info(source, cluster) if plugin.provide_cluster_info else None,
    )


def _cluster_info(source: str, cluster: KubeconfigCluster) -> dict[str, object]:
    authority = _authority(source, cluster)
    info: dict[str, object] = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(authority or b"").decode(),
        "proxy-url": cluster.proxy_url,
    }
    return {name: value for name, value in info.items() if value}


def _impersonation(user: KubeconfigUser) -> tuple[tuple[str, str], ...]:
    pairs = [("impersonate-user", user.as_), ("impersonate-uid", user.as_uid)]
    pairs += [("impersonate-group", group) for group in user.as_groups]
    return tuple(pair for pair in pairs if pair[1])


def _authority(source: str, cluster: KubeconfigCluster) -> bytes | None:
    return _pem(source, cluster.certificate_authority_data, cluster.certificate_authority)


def _pem(source: str, data: str, path: str) -> bytes | None:
    """Data within the kubeconfig goes before a file beside it."""
    if data:
        try:
            return base64.b64decode(data, validate=True)
        except binascii.Error as error:
            raise KubeconfigError(f"{source}: certificate or key data is not base64") from error
    if not path:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise KubeconfigError(f"{source}: {path} cannot be read: {error.strerror}") from error


def _proxy(server: str, environment: Mapping[str, str]) -> str:
    """The proxy that the environment asks for; never one for this machine itself."""
    url = urlsplit(server)
    host = url.hostname or ""
    name = f"{url.scheme}_proxy"
    proxy = environment.get(name) or environment.get(name.upper()) or ""
    excluded = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    return "" if _is_loopback(host) or _is_excluded(host, excluded) else proxy


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_excluded(host: str, excluded: str) -> bool:
    entries = [entry.strip().lstrip(".") for entry in excluded.split(",") if entry.strip()]
    return any(e in ("*", host) or host.endswith(f".{e}") for e in entries)
