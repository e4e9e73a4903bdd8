"""The flags of `plimsoll apiserver`: neither a file nor the environment sets any of them."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Annotated, TypeVar

from plimsoll.apiserver.access.authorizer import DEFAULT_MODES, parse_modes
from plimsoll.apiserver.admission.chain import parse_plugins
from plimsoll.apiserver.audit.log_file import MEBIBYTE, AuditFileLimits
from plimsoll.apiserver.audit.policy import parse_policy
from plimsoll.apiserver.main import ApiServerSettings, AuditSettings
from plimsoll.apiserver.model.kinds.networking.service_network import (
    ADDRESSES,
    NODE_PORTS,
    ServiceNetwork,
    parse_address_range,
    parse_port_range,
)
from plimsoll.apiserver.storage.encryption.keys import read_keys
from plimsoll.apiserver.storage.encryption.sealed_store import Encryption
from plimsoll.runtime import config
from plimsoll.runtime.config import parse_duration
from plimsoll.runtime.flags import Flag, PathKind

T = TypeVar("T")


def parse_lasting(text: str) -> timedelta:
    """A length of time that is not zero. Raises ValueError."""
    duration = parse_duration(text)
    if not duration:
        raise ValueError("it must be longer than nothing")
    return duration


def _read(option: str, parse: Callable[[str], T], text: str) -> T:
    """Raises ValueError, which names the option."""
    try:
        return parse(text)
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from error


class ApiServerFlags(config.Settings, frozen=True, kw_only=True):
    """Defaults of `plimsoll apiserver`."""

    data_dir: Annotated[
        str, Flag("Where objects, keys and certificates are kept.", path=PathKind.DIRECTORY)
    ] = "plimsoll-data"
    port: Annotated[
        int, Flag("Port on 127.0.0.1; 0 takes a free one.", at_least=0, at_most=65535)
    ] = 6443
    write_kubeconfig: Annotated[
        str | None,
        Flag("Write a kubeconfig for the administrator here (mode 0600).", path=PathKind.FILE),
    ] = None
    history_seconds: Annotated[float, Flag("How far back watches can resume.", at_least=1)] = 300
    event_ttl: Annotated[
        timedelta,
        Flag("How long events are kept after they were last written.", parse=parse_lasting),
    ] = timedelta(hours=1)
    service_cluster_ip_range: Annotated[
        str, Flag("Where services get their addresses from.", metavar="CIDR")
    ] = str(ADDRESSES)
    service_node_port_range: Annotated[
        str, Flag("Ports that services can have on nodes.", metavar="FIRST-LAST")
    ] = f"{NODE_PORTS[0]}-{NODE_PORTS[-1]}"
    enable_admission_plugins: Annotated[
        str,
        Flag(
            "Admission plugins to switch on that are off, by kube-apiserver's names, separated by "
            "commas.",
            metavar="NAMES",
        ),
    ] = ""
    disable_admission_plugins: Annotated[
        str,
        Flag(
            "Admission plugins to switch off, by kube-apiserver's names, separated by commas.",
            metavar="NAMES",
        ),
    ] = ""

    authorization_mode: Annotated[
        str,
        Flag(
            "Who may do what: AlwaysAllow, AlwaysDeny, Node and RBAC, asked in the order in which "
            "they are named.",
            metavar="MODES",
        ),
    ] = ",".join(DEFAULT_MODES)
    audit_log_path: Annotated[
        str,
        Flag(
            "Write who asked for what into this file (mode 0600); needs --audit-policy-file.",
            metavar="FILE",
        ),
    ] = ""
    audit_policy_file: Annotated[
        str,
        Flag("How much is written of which requests: a Policy of audit.k8s.io/v1.", metavar="FILE"),
    ] = ""
    audit_log_maxsize: Annotated[
        int, Flag("Mebibytes of the audit log before a new file is begun.", at_least=1)
    ] = 100
    audit_log_maxbackup: Annotated[
        int, Flag("How many old files of the audit log are kept; 0: all.", at_least=0)
    ] = 0
    audit_log_maxage: Annotated[
        int, Flag("Days for which old files of the audit log are kept; 0: all.", at_least=0)
    ] = 0
    encryption_key_file: Annotated[
        str,
        Flag(
            "Keep secrets encrypted in the data directory, with the first key of this file (mode "
            "0600): 32 bytes in base64, one key on a line.",
            metavar="FILE",
        ),
    ] = ""
    encryption_resources: Annotated[
        str,
        Flag(
            "What is encrypted, separated by commas: secrets,configmaps,tests.example.com.",
            metavar="RESOURCES",
        ),
    ] = "secrets"

    def settings(self) -> ApiServerSettings:
        """Raises ValueError for a plugin or a mode that does not exist, for no range, for an audit
        policy that is none, and for a file without keys."""
        kubeconfig = self.write_kubeconfig
        return ApiServerSettings(
            data_dir=Path(self.data_dir),
            port=self.port,
            write_kubeconfig=Path(kubeconfig) if kubeconfig is not None else None,
            history=timedelta(seconds=self.history_seconds),
            event_ttl=self.event_ttl,
            service_network=ServiceNetwork(
                addresses=_read(
                    "--service-cluster-ip-range",
                    parse_address_range,
                    self.service_cluster_ip_range,
                ),
                node_ports=_read(
                    "--service-node-port-range", parse_port_range, self.service_node_port_range
                ),
            ),
            admission_plugins=parse_plugins(
                enable=self.enable_admission_plugins, disable=self.disable_admission_plugins
            ),
            authorization_modes=_read("--authorization-mode", parse_modes, self.authorization_mode),
            audit=self._audit(),
            encryption=self._encryption(),
        )

    def _encryption(self) -> Encryption:
        if not self.encryption_key_file:
            return Encryption()
        try:
            ring = read_keys(Path(self.encryption_key_file))
        except ValueError as error:
            raise ValueError(f"--encryption-key-file: {error}") from error
        names = (name.strip() for name in self.encryption_resources.split(","))
        return Encryption(ring=ring, resources=frozenset(filter(None, names)))

    def _audit(self) -> AuditSettings | None:
        if not self.audit_log_path and not self.audit_policy_file:
            return None
        if not (self.audit_log_path and self.audit_policy_file):
            raise ValueError("--audit-log-path and --audit-policy-file need each other")
        try:
            policy = Path(self.audit_policy_file).read_text()
        except OSError as error:
            raise ValueError(f"--audit-policy-file: {error}") from error
        return AuditSettings(
            policy=parse_policy(policy),
            path=Path(self.audit_log_path),
            limits=AuditFileLimits(
                max_bytes=self.audit_log_maxsize * MEBIBYTE,
                max_backups=self.audit_log_maxbackup,
                max_age=timedelta(days=self.audit_log_maxage),
            ),
        )
