"""From connection options to a client: find the cluster, open a transport, speak Kubernetes."""

from random import Random

from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment, find_access


def connect(
    options: ConnectionOptions,
    machine: KubeconfigEnvironment,
    chance: Random,
    *,
    manager: str = "plimsoll",
) -> KubeClient:
    """Nothing is sent yet; raises KubeconfigError when no cluster is configured."""
    # Loading an HTTP client takes long, and processes beside their server never need one.
    from plimsoll.wire.http import HttpTransport  # noqa: PLC0415

    transport = HttpTransport(find_access(options, machine), user_agent=manager)
    return KubeClient(transport, clock=machine.clock, chance=chance, manager=manager)
