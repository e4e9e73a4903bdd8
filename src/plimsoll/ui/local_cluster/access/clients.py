"""Clients of a local cluster's API server, by a kubeconfig of its directory."""

from pathlib import Path

from plimsoll.runtime.clock import Clock
from plimsoll.runtime.config import environment
from plimsoll.runtime.ids import system_chance
from plimsoll.wire.connect import connect
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment

MANAGER = "plimsoll-up"


def connected(kubeconfig: Path, clock: Clock, manager: str = MANAGER) -> KubeClient:
    """A client over the network. Raises KubeconfigError."""
    options = ConnectionOptions(kubeconfig=str(kubeconfig))
    found = KubeconfigEnvironment(environment=environment(), clock=clock)
    return connect(options, found, system_chance(), manager=manager)
