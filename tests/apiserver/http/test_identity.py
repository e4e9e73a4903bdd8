"""Who asks, and what they may do."""

import pytest

from plimsoll.apiserver.http.identity import (
    ADMIN,
    ANONYMOUS,
    AdminsOnly,
    user_for_certificate,
    user_for_token,
)
from plimsoll.apiserver.model.status import ApiError


def test_the_token_makes_an_administrator() -> None:
    assert user_for_token("Bearer secret", "secret") == ADMIN
    assert user_for_token("bearer  secret ", "secret") == ADMIN
    assert user_for_token("", "secret") == ANONYMOUS


@pytest.mark.parametrize(
    ("header", "token"),
    [
        pytest.param("Bearer wrong", "secret", id="wrong-token"),
        pytest.param("Bearer secre", "secret", id="half-a-token"),
        pytest.param("Basic secret", "secret", id="wrong-scheme"),
        pytest.param("secret", "secret", id="no-scheme"),
        pytest.param("Bearer \xe4", "secret", id="beyond-ascii"),
        pytest.param("Bearer ", "", id="nothing-for-a-lost-token"),
        pytest.param("Bearer", "", id="no-token-for-a-lost-token"),
    ],
)
def test_a_client_that_shows_something_else_is_anonymous(header: str, token: str) -> None:
    with pytest.raises(ApiError) as refused:
        user_for_token(header, token)
    assert refused.value.code == 401


def test_a_certificate_names_its_user_and_groups() -> None:
    subject = ((("organizationName", "system:masters"),), (("commonName", "admin"),))
    user = user_for_certificate({"subject": subject})
    assert (user.name, user.is_admin) == ("admin", True)
    assert not user_for_certificate({"subject": ((("commonName", "system:masters"),),)}).is_admin
    assert not user_for_certificate({}).is_admin


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/healthz", True),
        ("GET", "/readyz/ping", True),
        ("HEAD", "/livez", True),
        ("GET", "/version", True),
        ("POST", "/healthz", False),
        ("GET", "/healthzz", False),
        ("GET", "/metrics", False),
        ("GET", "/api", False),
        ("GET", "/api/v1/secrets", False),
    ],
)
def test_strangers_may_ask_whether_the_server_is_well_and_nothing_else(
    method: str, path: str, *, allowed: bool
) -> None:
    assert AdminsOnly().allows(ANONYMOUS, method, path) is allowed
    assert AdminsOnly().allows(ADMIN, method, path)
