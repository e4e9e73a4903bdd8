"""The network side of a pod: host network, names, DNS."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.networking.addresses import address_errors
from plimsoll.apiserver.model.kinds.pods.values import (
    dns_label,
    dns_search,
    dns_subdomain,
    required_one_of,
)

DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
NAMESERVERS_LIMIT = 3
SEARCHES_LIMIT = 32
SEARCHES_LIMIT_BYTES = 2048
HOSTNAME_LIMIT = 64


def network_errors(spec: Document, path: str, *, is_pod: bool) -> Iterator[FieldError]:
    yield from _host_network_errors(spec, path, is_pod=is_pod)
    policy = spec.get("dnsPolicy", "")
    yield from required_one_of(policy, f"{path}.dnsPolicy", DNS_POLICIES)
    yield from _dns_errors(policy, spec.get("dnsConfig"), f"{path}.dnsConfig")
    for name in ("hostname", "subdomain"):
        if spec.get(name):
            yield from dns_label(spec[name], f"{path}.{name}")
    yield from _hostname_override_errors(spec, f"{path}.hostnameOverride")
    for index, alias in enumerate(spec.get("hostAliases") or []):
        where = f"{path}.hostAliases[{index}]"
        yield from address_errors(alias.get("ip", ""), f"{where}.ip")
        for position, hostname in enumerate(alias.get("hostnames") or []):
            yield from dns_subdomain(hostname, f"{where}.hostnames[{position}]")


def _host_network_errors(spec: Document, path: str, *, is_pod: bool) -> Iterator[FieldError]:
    """On the host's network a port is what it is; templates may leave that to the pod."""
    if not spec.get("hostNetwork"):
        return
    for index, container in enumerate(spec.get("containers") or []):
        for position, port in enumerate(container.get("ports") or []):
            on_host = port.get("hostPort", 0)
            if (is_pod or on_host) and on_host != port.get("containerPort", 0):
                yield FieldError.invalid(
                    f"{path}.containers[{index}].ports[{position}].hostPort",
                    on_host,
                    "must match `containerPort` when `hostNetwork` is true",
                )


def _dns_errors(policy: str, config: Document | None, path: str) -> Iterator[FieldError]:
    servers = (config or {}).get("nameservers") or []
    if policy == "None" and not servers:
        where = path if config is None else f"{path}.nameservers"
        yield FieldError.required(where, "must be provided when `dnsPolicy` is None")
        return
    if len(servers) > NAMESERVERS_LIMIT:
        yield FieldError.invalid(
            f"{path}.nameservers", servers, f"must not have more than {NAMESERVERS_LIMIT}"
        )
    for index, server in enumerate(servers):
        yield from address_errors(server, f"{path}.nameservers[{index}]")
    searches = (config or {}).get("searches") or []
    if len(searches) > SEARCHES_LIMIT:
        yield FieldError.invalid(
            f"{path}.searches", searches, f"must not have more than {SEARCHES_LIMIT} search paths"
        )
    if len(" ".join(searches)) > SEARCHES_LIMIT_BYTES:
        yield FieldError.invalid(
            f"{path}.searches", searches, f"must not be over {SEARCHES_LIMIT_BYTES} characters"
        )
    for index, search in enumerate(searches):
        yield from dns_search(search, f"{path}.searches[{index}]")
    for index, option in enumerate((config or {}).get("options") or []):
        if not option.get("name"):
            yield FieldError.required(f"{path}.options[{index}]", "must not be empty")


def _hostname_override_errors(spec: Document, path: str) -> Iterator[FieldError]:
    name = spec.get("hostnameOverride")
    if name is None:
        return
    for other in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(other):
            yield FieldError.forbidden(path, f"may not be specified when {other} is true")
    if len(name) > HOSTNAME_LIMIT:
        yield FieldError.too_long(path, HOSTNAME_LIMIT)
    yield from dns_subdomain(name, path)
