"""A server that is there to be mistreated, and the rules for how long."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.fuzz.exchange import Exchange
from tests.servers import EmbeddedServer, Endpoint, is_ready

# Raise it for a night's run; the default is thousands of requests in well under a minute.
EXAMPLES = int(os.environ.get("PLIMSOLL_FUZZ_EXAMPLES", "500"))

settings.register_profile(
    "fuzz",
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """Alive and well at the end, whatever was sent to it; its log knows of no bug."""
    with EmbeddedServer(tmp_path_factory.mktemp("fuzz")) as server:
        yield server
        assert is_ready(server.port)
        assert "Traceback" not in server.log.read_text(errors="replace")


@pytest.fixture(scope="module")
def endpoint(server: EmbeddedServer) -> Endpoint:
    return server.endpoint


@pytest.fixture(scope="module")
def exchange(endpoint: Endpoint) -> Iterator[Exchange]:
    exchange = Exchange(endpoint)
    yield exchange
    exchange.close()
