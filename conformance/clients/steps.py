"""The steps about clients that others wrote."""

from collections.abc import Callable

from conformance.clients import (
    credentials_checks,
    helm_checks,
    kopf_checks,
    python_checks,
    registrar_checks,
)
from conformance.step import Say, Servers, Step, tell


def _on_a_cluster(name: str, run: Callable[[Say], None]) -> Callable[[Servers], None]:
    """These start what they need: pods have to run, or the audit log has to be on."""
    return lambda _servers: tell(name, run)


def registrar(servers: Servers) -> None:
    tell("embedded", lambda say: registrar_checks.run(servers.embedded.kubeconfig, say))


CLIENT_STEPS = (
    Step("the official Python client", _on_a_cluster("cluster", python_checks.run)),
    Step("kopf with a small operator", _on_a_cluster("cluster", kopf_checks.run)),
    Step("helm with a small chart", _on_a_cluster("cluster", helm_checks.run)),
    Step(
        "kube-controller-manager with an account for each controller",
        _on_a_cluster("embedded", credentials_checks.run),
    ),
    Step("node-driver-registrar with our driver and node", registrar),
)
