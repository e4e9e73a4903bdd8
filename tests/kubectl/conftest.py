"""The server that kubectl talks to: the embedded one, or the one $PLIMSOLL_KUBECONFIG names.

The second form runs the same tests against a real kube-apiserver, which is how we know that they
ask for the right thing.
"""

import itertools
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubectl.command import Kubectl, find_kubectl
from tests.servers import EmbeddedServer

_numbers = itertools.count()


@pytest.fixture(scope="session")
def program() -> str:
    found = find_kubectl()
    if found is None:
        pytest.skip("there is no kubectl on the PATH, and conformance has not built one")
    return found


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    named = os.environ.get("PLIMSOLL_KUBECONFIG")
    if named:
        yield Path(named)
        return
    with EmbeddedServer(tmp_path_factory.mktemp("server")) as server:
        yield server.kubeconfig


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared by all tests: kubectl asks for discovery once, as it does at a user's desk."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def prefix() -> str:
    """Keeps names of cluster-scoped objects apart from those of earlier runs."""
    return f"k{secrets.token_hex(3)}"


@pytest.fixture
def kubectl(program: str, kubeconfig: Path, cache: Path, prefix: str) -> Kubectl:
    """kubectl in a namespace of the test's own."""
    name = f"{prefix}-{next(_numbers)}"
    kubectl = Kubectl(program, kubeconfig, cache, name)
    kubectl("create", "namespace", name)
    return kubectl
