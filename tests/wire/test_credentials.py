import sys
from datetime import timedelta
from pathlib import Path

import pytest

from plimsoll.runtime.clock import SteppedClock
from plimsoll.wire.credentials import PluginCredentials, PluginSpec, TokenFile
from plimsoll.wire.errors import Failure, KubeError

V1 = "client.authentication.k8s.io/v1"

# Prints a credential whose token counts how often it ran; `answer` is a Python expression.
PLUGIN = """
import json, os, pathlib
runs = pathlib.Path(os.environ["RUNS"])
count = int(runs.read_text()) + 1 if runs.exists() else 1
runs.write_text(str(count))
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
{answer}
"""
GOOD = """
print(json.dumps({
    "apiVersion": info["apiVersion"], "kind": "ExecCredential",
    "status": {"token": f"t{count}", "expirationTimestamp": os.environ.get("EXPIRES")},
}))
"""


def a_plugin(tmp_path: Path, answer: str, clock: SteppedClock, **more: object) -> PluginCredentials:
    environment = {"RUNS": str(tmp_path / "runs"), "EXPIRES": "2024-01-01T01:00:00Z"}
    spec = PluginSpec(
        api_version=V1,
        command=sys.executable,
        arguments=("-c", PLUGIN.format(answer=answer)),
        environment=environment,
        **more,  # type: ignore[arg-type] # a shorthand
    )
    return PluginCredentials(spec, clock)


async def test_a_plugin_runs_again_only_when_its_credential_expires(tmp_path: Path) -> None:
    clock = SteppedClock()  # starts at 2024-01-01T00:00:00Z
    plugin = a_plugin(tmp_path, GOOD, clock)
    assert (await plugin.identity()).authorization == "Bearer t1"
    clock.advance(timedelta(minutes=59))
    assert (await plugin.identity()).authorization == "Bearer t1"
    clock.advance(timedelta(minutes=1))
    assert (await plugin.identity()).authorization == "Bearer t2"


async def test_a_plugin_runs_again_when_the_server_refuses(tmp_path: Path) -> None:
    clock = SteppedClock()
    plugin = a_plugin(tmp_path, GOOD, clock)
    await plugin.identity()
    clock.advance(timedelta(minutes=1))
    assert await plugin.refused()
    assert await plugin.refused(), "the second of two requests that were refused together"
    assert (await plugin.identity()).authorization == "Bearer t2"


async def test_a_plugin_may_hand_out_a_certificate_and_learn_about_the_cluster(
    tmp_path: Path,
) -> None:
    answer = """
print(json.dumps({
    "apiVersion": info["apiVersion"], "kind": "ExecCredential",
    "status": {"clientCertificateData": info["spec"]["cluster"]["server"], "clientKeyData": "k"},
}))
"""
    plugin = a_plugin(tmp_path, answer, SteppedClock(), cluster={"server": "https://x"})
    certificate = (await plugin.identity()).certificate
    assert certificate is not None
    assert (certificate.certificate, certificate.key) == (b"https://x", b"k")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param("print('hello')", "printed no ExecCredential", id="no-json"),
        pytest.param("raise SystemExit('not logged in')", "exit code 1: not logged in", id="fails"),
        pytest.param(
            "print(json.dumps({'apiVersion': 'x/v9', 'kind': 'ExecCredential'}))",
            "answered in x/v9",
            id="wrong-version",
        ),
        pytest.param(
            "print(json.dumps({'apiVersion': info['apiVersion'], 'kind': 'ExecCredential'}))",
            "neither a token nor a client certificate",
            id="empty",
        ),
    ],
)
async def test_what_is_wrong_with_a_plugin_is_said(tmp_path: Path, answer: str, said: str) -> None:
    plugin = a_plugin(tmp_path, answer, SteppedClock(), install_hint="ask Ann")
    with pytest.raises(KubeError, match=said) as caught:
        await plugin.identity()
    assert caught.value.failure is Failure.UNAUTHORIZED
    assert "ask Ann" in str(caught.value)


async def test_a_plugin_that_is_not_installed_says_how_to_get_it() -> None:
    spec = PluginSpec(
        api_version=V1, command="/nowhere/login", environment={}, install_hint="apt install login"
    )
    with pytest.raises(KubeError, match=r"could not be started.*apt install login"):
        await PluginCredentials(spec, SteppedClock()).identity()


async def test_a_token_file_is_read_at_most_once_a_minute(tmp_path: Path) -> None:
    clock, path = SteppedClock(), tmp_path / "token"
    path.write_text("one")
    credentials = TokenFile(path, clock)
    assert (await credentials.identity()).authorization == "Bearer one"
    path.write_text("two")
    clock.advance(timedelta(seconds=59))
    assert (await credentials.identity()).authorization == "Bearer one"
    clock.advance(timedelta(seconds=1))
    assert (await credentials.identity()).authorization == "Bearer two"


async def test_a_token_file_that_is_away_for_a_moment_does_no_harm(tmp_path: Path) -> None:
    clock, path = SteppedClock(), tmp_path / "token"
    path.write_text("one")
    credentials = TokenFile(path, clock)
    await credentials.identity()
    path.unlink()
    clock.advance(timedelta(minutes=5))
    assert (await credentials.identity()).authorization == "Bearer one"
    assert not await credentials.refused()


async def test_a_token_file_that_was_never_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KubeError, match=r"token file .* cannot be read"):
        await TokenFile(tmp_path / "token", SteppedClock()).identity()
