"""API servers as programs of their own: how tests start, reach, kill and restart them.

Everything here goes through the command line and the network, as a user would, so that what is
tested is the server that is shipped.
"""

import base64
import contextlib
import http.client
import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import yaml

from plimsoll.apiserver.admission.chain import FINISHED_BY_CONTROLLERS

START_SECONDS = 90
# Most tests run no controller that would find their nodes ready.
NO_CONTROLLERS = ("--disable-admission-plugins", ",".join(sorted(FINISHED_BY_CONTROLLERS)))
STOP_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """All that a client needs to be the administrator of a server."""

    url: str
    token: str
    authority: Path
    kubeconfig: Path

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or "127.0.0.1"

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 443

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.authority))

    def connect(self, timeout: float = 30) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            self.host, self.port, timeout=timeout, context=self.context()
        )

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """One request on a connection of its own; the answer's code and its parsed body."""
        with contextlib.closing(self.connect()) as connection:
            return self.ask(connection, method, path, body)

    def ask(
        self, connection: http.client.HTTPSConnection, method: str, path: str, body: Any = None
    ) -> tuple[int, Any]:
        """One of many requests on the same connection."""
        text = None if body is None else json.dumps(body)
        connection.request(method, path, body=text, headers=self.headers())
        response = connection.getresponse()
        data = response.read()
        is_json = "json" in (response.getheader("Content-Type") or "")
        return response.status, json.loads(data) if is_json else data.decode(errors="replace")


def endpoint_in(kubeconfig: Path) -> Endpoint:
    """Reads a kubeconfig that carries its authority and token inside."""
    document = yaml.safe_load(kubeconfig.read_text())
    cluster = document["clusters"][0]["cluster"]
    authority = kubeconfig.with_suffix(".ca.crt")
    authority.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    return Endpoint(
        url=cluster["server"],
        token=document["users"][0]["user"]["token"],
        authority=authority,
        kubeconfig=kubeconfig,
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _trusting() -> ssl.SSLContext:
    # Made once, without the system's authorities: asking must cost less than what is measured.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


TRUSTING = _trusting()


def is_ready(port: int) -> bool:
    """Whether /readyz answers ok; asked without credentials, as a supervisor would."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=TRUSTING)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def plimsoll() -> str:
    """The installed command, of the environment that runs these tests."""
    beside = Path(sys.executable).with_name("plimsoll")
    return str(beside) if beside.exists() else shutil.which("plimsoll") or "plimsoll"


class ServerDiedError(RuntimeError):
    """The server ended before it was ready; the message carries its last words."""


class EmbeddedServer:
    """`plimsoll apiserver` on one data directory and one port, over as many lives as a test wants.

    The port stays the same across restarts: clients find the server where it was.
    """

    def __init__(
        self, directory: Path, *flags: str, data: Path | None = None, wrap: Sequence[str] = ()
    ) -> None:
        self.data = data or directory / "data"
        self.kubeconfig = directory / "kubeconfig"
        self.log = directory / "apiserver.log"
        self.port = free_port()
        self._flags = (*NO_CONTROLLERS, *flags)
        self._wrap = tuple(wrap)
        self._process: subprocess.Popen[bytes] | None = None
        self._endpoint: Endpoint | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def endpoint(self) -> Endpoint:
        assert self._endpoint is not None, "the server was never started"
        return self._endpoint

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server was never started"
        return self._process.pid

    def command(self) -> list[str]:
        arguments = ["--data-dir", str(self.data), "--port", str(self.port)]
        arguments += ["--write-kubeconfig", str(self.kubeconfig), *self._flags]
        return [*self._wrap, plimsoll(), "apiserver", *arguments]

    def start(self) -> float:
        """Starts the server, waits until it is ready, and says how many seconds that took."""
        began = time.monotonic()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self.command(), stdout=log, stderr=log)
        # The file as well: another server may have taken the port meanwhile.
        while not (self.kubeconfig.exists() and is_ready(self.port)):
            if self._process.poll() is not None:
                raise ServerDiedError(f"exit code {self._process.returncode}: {self.last_words()}")
            if time.monotonic() - began > START_SECONDS:
                self.kill()
                raise ServerDiedError(f"not ready after {START_SECONDS} s: {self.last_words()}")
            time.sleep(0.02)
        took = time.monotonic() - began
        self._endpoint = endpoint_in(self.kubeconfig)
        return took

    def kill(self) -> None:
        """As if the power had gone: no clean-up code runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> int | None:
        """Asks the server to end and returns its exit code; None if it never ran."""
        if self._process is None:
            return None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def last_words(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
