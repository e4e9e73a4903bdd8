"""A server with a key keeps no plain secret on the disk, over updates, restarts and new keys."""

import stat
from base64 import b64encode
from pathlib import Path

import pytest

from tests.servers import EmbeddedServer, ServerDiedError

SECRETS = "/api/v1/namespaces/default/secrets"
PASSWORDS = ("first-password-of-all", "second-password-of-all")


def keys(directory: Path, *seeds: int | None) -> tuple[str, str]:
    """None is the line `identity`."""
    file = directory / "keys"
    lines = ("identity" if n is None else b64encode(bytes([n]) * 32).decode() for n in seeds)
    file.write_text("".join(f"{line}\n" for line in lines))
    file.chmod(0o600)
    return ("--encryption-key-file", str(file))


def encoded(password: str) -> str:
    return b64encode(password.encode()).decode()


def put(server: EmbeddedServer, name: str, password: str) -> None:
    body = {"metadata": {"name": name}, "data": {"password": encoded(password)}}
    code, _ = server.endpoint.request("POST", SECRETS, body)
    if code == 409:
        code, _ = server.endpoint.request("PUT", f"{SECRETS}/{name}", body)
    assert code in (200, 201)


def held(server: EmbeddedServer, name: str) -> str:
    code, secret = server.endpoint.request("GET", f"{SECRETS}/{name}")
    assert code == 200
    password: str = secret["data"]["password"]
    return password


def traces(directory: Path) -> list[str]:
    """Passwords that a file of the data directory shows, in any of their forms."""
    files = [path for path in directory.rglob("*") if path.is_file()]
    content = b"".join(path.read_bytes() for path in files)
    return [
        each
        for each in PASSWORDS
        if each.encode() in content or encoded(each).encode().rstrip(b"=") in content
    ]


def test_no_file_shows_a_secret_while_the_server_runs_and_afterwards(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path, *keys(tmp_path, 1)) as server:
        put(server, "a", PASSWORDS[0])
        put(server, "a", PASSWORDS[1])
        assert held(server, "a") == encoded(PASSWORDS[1])
        assert (server.data / "plimsoll.db-wal").stat().st_size > 0
        assert traces(server.data) == []
    assert traces(server.data) == []
    modes = {stat.S_IMODE(p.stat().st_mode) for p in server.data.rglob("*") if p.is_file()}
    assert modes == {0o600}


def test_a_directory_without_a_key_gets_one_and_another_one_later(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        put(server, "a", PASSWORDS[0])
        assert traces(server.data) == [PASSWORDS[0]]
    for seeds in ((1, None), (1,), (2, 1), (2,)):
        with EmbeddedServer(tmp_path, *keys(tmp_path, *seeds)) as server:
            assert held(server, "a") == encoded(PASSWORDS[0])
            assert traces(server.data) == []


def test_a_plain_secret_in_an_encrypted_directory_ends_the_start_with_its_name_and_the_remedy(
    tmp_path: Path,
) -> None:
    with EmbeddedServer(tmp_path) as server:
        put(server, "planted", PASSWORDS[0])
    before = (server.data / "plimsoll.db").read_bytes()
    with pytest.raises(ServerDiedError, match=r"secrets default/planted .*the line identity below"):
        EmbeddedServer(tmp_path, *keys(tmp_path, 1)).start()
    assert (server.data / "plimsoll.db").read_bytes() == before


@pytest.mark.parametrize("seeds", [(2,), ()], ids=["another key", "no key"])
def test_a_server_without_the_key_does_not_start_and_says_what_it_needs(
    tmp_path: Path, seeds: tuple[int, ...]
) -> None:
    with EmbeddedServer(tmp_path, *keys(tmp_path, 1)) as server:
        put(server, "a", PASSWORDS[0])
    before = (server.data / "plimsoll.db").read_bytes()
    given = keys(tmp_path, *seeds) if seeds else ()
    with pytest.raises(ServerDiedError, match="start with --encryption-key-file"):
        EmbeddedServer(tmp_path, *given).start()
    assert (server.data / "plimsoll.db").read_bytes() == before
    with EmbeddedServer(tmp_path, *keys(tmp_path, 1)) as server:
        assert held(server, "a") == encoded(PASSWORDS[0])


def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    flags = keys(tmp_path, 1)
    (tmp_path / "keys").chmod(0o644)
    with pytest.raises(ServerDiedError, match="chmod 600"):
        EmbeddedServer(tmp_path, *flags).start()
