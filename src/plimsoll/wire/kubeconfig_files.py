"""What stands in kubeconfig files: read, checked, merged.

Paths in the result are absolute: relative ones start from the directory of their own file.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec
import yaml
from msgspec.structs import replace


class KubeconfigError(Exception):
    """Names the file and the remedy."""


class KubeconfigCluster(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class PluginVariable(msgspec.Struct, frozen=True):
    name: str
    value: str = ""


class CredentialPlugin(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    api_version: str
    command: str
    args: tuple[str, ...] | None = None
    env: tuple[PluginVariable, ...] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class KubeconfigUser(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    exec: CredentialPlugin | None = None
    auth_provider: dict[str, object] | None = None
    as_: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "User(…)"


class KubeconfigContext(msgspec.Struct, frozen=True, kw_only=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: KubeconfigCluster | None = None


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: KubeconfigUser | None = None


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: KubeconfigContext | None = None


class _File(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    current_context: str | None = None
    clusters: tuple[_NamedCluster, ...] | None = None
    users: tuple[_NamedUser, ...] | None = None
    contexts: tuple[_NamedContext, ...] | None = None


E = TypeVar("E")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubeconfig:
    source: str
    current_context: str
    clusters: Mapping[str, KubeconfigCluster]
    users: Mapping[str, KubeconfigUser]
    contexts: Mapping[str, KubeconfigContext]

    def entry(self, entries: Mapping[str, E], what: str, name: str) -> E:
        if name not in entries:
            known = ", ".join(sorted(entries)) or "none"
            raise KubeconfigError(f'{self.source}: there is no {what} "{name}" (known: {known})')
        return entries[name]


def read_kubeconfig(paths: Sequence[Path]) -> Kubeconfig:
    """Of entries with the same name the one read first counts, as with kubectl."""
    files = [(path.parent.absolute(), _read(path)) for path in paths]
    return Kubeconfig(
        source=", ".join(str(path) for path in paths),
        current_context=next((f.current_context for _, f in files if f.current_context), ""),
        clusters=_first(
            (named.name, _located_cluster(named.cluster or KubeconfigCluster(), directory))
            for directory, file in files
            for named in file.clusters or ()
        ),
        users=_first(
            (named.name, _located_user(named.user or KubeconfigUser(), directory))
            for directory, file in files
            for named in file.users or ()
        ),
        contexts=_first(
            (named.name, named.context or KubeconfigContext())
            for _, file in files
            for named in file.contexts or ()
        ),
    )


def _read(path: Path) -> _File:
    try:
        document = yaml.safe_load(path.read_text())
    except OSError as error:
        raise KubeconfigError(
            f"kubeconfig {path} cannot be read: {error.strerror}; check --kubeconfig or KUBECONFIG"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        # The parser would quote the line, and the line may hold a token.
        mark = getattr(error, "problem_mark", None)
        where = f": look at line {mark.line + 1}" if mark else ""
        raise KubeconfigError(f"kubeconfig {path} is not YAML{where}") from None
    try:
        return msgspec.convert(document if document is not None else {}, _File)
    except msgspec.ValidationError as error:
        raise KubeconfigError(f"kubeconfig {path} is not a kubeconfig: {error}") from error


def _first(entries: Iterable[tuple[str, E]]) -> dict[str, E]:
    found: dict[str, E] = {}
    for name, entry in entries:
        found.setdefault(name, entry)
    return found


def _located(path: str, directory: Path) -> str:
    return str(directory / path) if path else ""


def _located_cluster(cluster: KubeconfigCluster, directory: Path) -> KubeconfigCluster:
    authority = _located(cluster.certificate_authority, directory)
    return replace(cluster, certificate_authority=authority)


def _located_user(user: KubeconfigUser, directory: Path) -> KubeconfigUser:
    plugin = user.exec
    if plugin is not None and "/" in plugin.command:  # a bare name is looked up in PATH
        plugin = replace(plugin, command=_located(plugin.command, directory))
    return replace(
        user,
        exec=plugin,
        client_certificate=_located(user.client_certificate, directory),
        client_key=_located(user.client_key, directory),
        token_file=_located(user.token_file, directory),
    )
