"""The real kube-controller-manager on any API server: the same stories, told by the original."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import uvloop

from conformance.cluster_stories import STORIES, tell
from conformance.programs import (
    THEIR_CLUSTER_CONTROLLERS,
    THEIR_CONTROLLERS,
    kube_controller_manager,
)

CONTROLLERS = (*THEIR_CONTROLLERS, *THEIR_CLUSTER_CONTROLLERS)


def run(kubeconfig: Path, say: Callable[[str], None]) -> None:
    """Raises AssertionError when a story does not end as it should."""
    with (
        tempfile.TemporaryDirectory(prefix="plimsoll-kcm-") as name,
        kube_controller_manager(kubeconfig, Path(name), CONTROLLERS),
    ):
        uvloop.run(tell(kubeconfig, STORIES, say))
