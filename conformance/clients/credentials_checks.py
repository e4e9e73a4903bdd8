"""kube-controller-manager with an account for each controller, on an embedded server with roles.

It shows a certificate of `system:kube-controller-manager`, as installers give it one, and runs all
of its controllers. With `--use-service-account-credentials` each of them asks for a token of its
own account in kube-system, and may do what its role says. The audit log tells who asked for what.
"""

import contextlib
import datetime as dt
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvloop
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from conformance import peers
from conformance.cluster_stories import STORIES, tell
from conformance.programs import running, wait_for_line
from plimsoll.api.registry import Document
from tests.servers import EmbeddedServer, Endpoint, free_port

Say = Callable[[str], None]
USER = "system:kube-controller-manager"
ACCOUNT = "system:serviceaccount:kube-system:"
READS = frozenset({"get", "list", "watch"})
POLICY = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}
WRITERS = frozenset(
    {
        "cronjob-controller",
        "disruption-controller",
        "ephemeral-volume-controller",
        "generic-garbage-collector",
        "job-controller",
        "namespace-controller",
        "node-controller",
        "persistent-volume-binder",
        "pv-protection-controller",
        "pvc-protection-controller",
        "replicaset-controller",
        "statefulset-controller",
    }
)
"""The accounts that have something to write in the stories."""
DECISION = "authorization.k8s.io/decision"
"""Of the roles; admission forbids some of what they allow, in a namespace that ends for one."""


def run(say: Say) -> None:
    """Raises AssertionError when a story does not end as it should, or an account is refused."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-credentials-") as name:
        directory = Path(name)
        audit, policy = directory / "audit.log", directory / "policy.yaml"
        policy.write_text(yaml.safe_dump(POLICY))
        flags = (f"--audit-log-path={audit}", f"--audit-policy-file={policy}")
        with EmbeddedServer(directory, *flags) as server, _controllers(server, directory):
            uvloop.run(tell(server.endpoint.kubeconfig, STORIES, say))
        seen = Requests.read(audit)
        assert not seen.refused, f"refused: {seen.refused}"
        say(f"{len(seen.accounts)} accounts came with tokens of their own, none was refused")
        say(f"{sum(seen.writes.values())} writes by {', '.join(sorted(seen.writes))}")
        missing = WRITERS - seen.writes.keys()
        assert not missing, f"no write came from {sorted(missing)}"


@dataclass(frozen=True, slots=True)
class Requests:
    """What the audit log says about the accounts of controllers."""

    accounts: frozenset[str]
    writes: Counter[str]
    refused: list[str]

    @classmethod
    def read(cls, log: Path) -> "Requests":
        told = [json.loads(line) for line in log.read_text().splitlines()]
        done = [
            each
            for each in told
            if each["stage"] == "ResponseComplete" and each["user"]["username"].startswith(ACCOUNT)
        ]
        return cls(
            accounts=frozenset(_account(each) for each in done),
            writes=Counter(_account(each) for each in done if each["verb"] not in READS),
            refused=[
                f"{_account(each)}: {each['verb']} {each['requestURI']}"
                for each in done
                if each["annotations"][DECISION] != "allow"
            ],
        )


def _account(entry: Document) -> str:
    name: str = entry["user"]["username"]
    return name.removeprefix(ACCOUNT)


@contextlib.contextmanager
def _controllers(server: EmbeddedServer, directory: Path) -> Iterator[None]:
    """With its defaults, but for a port that no other has, and the files of this cluster."""
    keys = server.data / "pki"
    kubeconfig = _kubeconfig(server.endpoint, keys, directory)
    command = [
        str(peers.build(peers.KUBE_CONTROLLER_MANAGER)),
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={keys / 'sa.key'}",
        f"--root-ca-file={keys / 'ca.crt'}",
        "--bind-address=127.0.0.1",
        f"--secure-port={free_port()}",
        "--v=2",
    ]
    log = directory / "kube-controller-manager.log"
    try:
        with running(command, log) as process:
            wait_for_line(process, log, "Proceeding to collect garbage")
            yield
    except AssertionError as error:
        said = "\n".join(log.read_text(errors="replace").splitlines()[-12:])
        raise AssertionError(f"{error}\nkube-controller-manager said: {said}") from error


def _kubeconfig(endpoint: Endpoint, keys: Path, directory: Path) -> Path:
    """Of a user with a certificate that the server's own authority has signed."""
    document = yaml.safe_load(endpoint.kubeconfig.read_text())
    certificate, key = _certificate(keys, directory)
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    document["users"][0]["user"] = user
    written = directory / "controller-manager.kubeconfig"
    written.touch(mode=0o600)
    written.write_text(yaml.safe_dump(document))
    return written


def _certificate(keys: Path, directory: Path) -> tuple[Path, Path]:
    authority = x509.load_pem_x509_certificate((keys / "ca.crt").read_bytes())
    signing = serialization.load_pem_private_key((keys / "ca.key").read_bytes(), None)
    assert isinstance(signing, ec.EllipticCurvePrivateKey)
    own = ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime.now(dt.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, USER)]))
        .issuer_name(authority.subject)
        .public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(signing, hashes.SHA256())
    )
    certificate, key = directory / "controller-manager.crt", directory / "controller-manager.key"
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    key.touch(mode=0o600)
    key.write_bytes(
        own.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    return certificate, key
