"""The server's keys: made once, kept private, renewed in time, never trusted by name alone."""

import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from plimsoll.apiserver.http.certificates import (
    LEAF_LIFE,
    RENEW_BEFORE,
    client_credential,
    load_or_create,
    private_write,
)
from plimsoll.runtime.clock import SteppedClock

NOW = datetime(2024, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_everything_is_made_once_and_readable_for_the_owner_only(tmp_path: Path) -> None:
    directory = tmp_path / "pki"
    made = load_or_create(directory, NOW)
    before = content(directory)
    assert load_or_create(directory, NOW) == made
    assert content(directory) == before
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert made.admin_token not in repr(made)


def test_a_client_gets_a_certificate_of_its_name_and_groups_that_lasts_as_long_as_the_authority(
    tmp_path: Path,
) -> None:
    load_or_create(tmp_path, NOW)
    user = ("system:node:a", ("system:nodes", "others"))
    made = client_credential(tmp_path, "a", user, NOW)
    held = x509.load_pem_x509_certificate(made.certificate)
    authority = certificate(tmp_path / "ca.crt")
    held.verify_directly_issued_by(authority)
    assert held.not_valid_after_utc == authority.not_valid_after_utc
    named = [(part.rfc4514_attribute_name, part.value) for part in held.subject]
    assert named == [("CN", "system:node:a"), ("O", "system:nodes"), ("O", "others")]
    files = list((tmp_path / "clients").iterdir())
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert client_credential(tmp_path, "a", user, NOW + DAY) == made
    assert "PRIVATE" not in repr(made)


@pytest.mark.parametrize("user", [("b", ("system:nodes",)), ("a", ())])
def test_a_client_that_is_another_user_gets_another_certificate(
    tmp_path: Path, user: tuple[str, tuple[str, ...]]
) -> None:
    load_or_create(tmp_path, NOW)
    before = client_credential(tmp_path, "a", ("a", ("system:nodes",)), NOW)
    assert client_credential(tmp_path, "a", user, NOW).certificate != before.certificate


def test_keys_and_certificates_fit_together(tmp_path: Path) -> None:
    made = load_or_create(tmp_path, NOW)
    authority = certificate(made.authority)
    for leaf, key in (
        (made.server_certificate, made.server_key),
        (made.admin_certificate, made.admin_key),
    ):
        certificate(leaf).verify_directly_issued_by(authority)
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(leaf, key)


def test_a_certificate_is_renewed_before_it_ends_and_the_authority_stays(tmp_path: Path) -> None:
    load_or_create(tmp_path, NOW)
    before = content(tmp_path)
    load_or_create(tmp_path, NOW + LEAF_LIFE - RENEW_BEFORE - DAY)
    assert content(tmp_path) == before
    later = load_or_create(tmp_path, NOW + LEAF_LIFE - RENEW_BEFORE + DAY)
    after = content(tmp_path)
    assert after["ca.crt"] == before["ca.crt"]
    assert after["admin.token"] == before["admin.token"]
    assert certificate(later.server_certificate).not_valid_after_utc > NOW + LEAF_LIFE


@pytest.mark.parametrize("lost", ["ca.crt", "ca.key"])
def test_a_new_authority_signs_everything_anew(tmp_path: Path, lost: str) -> None:
    load_or_create(tmp_path, NOW)
    (tmp_path / lost).unlink()
    made = load_or_create(tmp_path, NOW)
    authority = certificate(made.authority)
    certificate(made.server_certificate).verify_directly_issued_by(authority)
    certificate(made.admin_certificate).verify_directly_issued_by(authority)


def test_a_token_file_without_a_token_gets_a_new_one(tmp_path: Path) -> None:
    first = load_or_create(tmp_path, NOW).admin_token
    (tmp_path / "admin.token").write_text("\n")
    second = load_or_create(tmp_path, NOW).admin_token
    assert len(second) >= 40
    assert second != first


def test_a_private_file_is_replaced_as_a_whole_and_its_draft_follows_no_link(
    tmp_path: Path,
) -> None:
    victim, path = tmp_path / "victim", tmp_path / "config"
    victim.write_text("untouched")
    path.write_text("old")
    path.chmod(0o644)
    (tmp_path / "config.new").symlink_to(victim)
    private_write(path, b"new")
    assert (path.read_text(), victim.read_text()) == ("new", "untouched")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(p.name for p in tmp_path.iterdir()) == ["config", "victim"]


def test_a_private_file_that_holds_the_content_already_is_left_alone(tmp_path: Path) -> None:
    """So that a server can start again where nothing can be written."""
    path = tmp_path / "config"
    private_write(path, b"same")
    before = path.stat()
    private_write(path, b"same")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("back", [timedelta(minutes=30), timedelta(days=2), timedelta(days=30)])
def test_certificates_are_valid_when_the_clock_is_set_back(tmp_path: Path, back: timedelta) -> None:
    now = SteppedClock().now()
    made = load_or_create(tmp_path, now)
    authority = made.authority.read_bytes()
    # A server that goes on running keeps its certificate, a new one may make another.
    again = load_or_create(tmp_path, now - back)
    assert again.authority.read_bytes() == authority
    for path in (again.authority, again.server_certificate, again.admin_certificate):
        held = x509.load_pem_x509_certificate(path.read_bytes())
        assert held.not_valid_before_utc <= now - back < held.not_valid_after_utc


def test_a_running_server_outlives_a_clock_that_is_set_back_by_days(tmp_path: Path) -> None:
    now = SteppedClock().now()
    made = load_or_create(tmp_path, now)
    held = x509.load_pem_x509_certificate(made.server_certificate.read_bytes())
    assert held.not_valid_before_utc <= now - timedelta(days=6)
