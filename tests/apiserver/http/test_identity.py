"""Who sends a request."""

import pytest

from plimsoll.apiserver.access.objects import NoObjects
from plimsoll.apiserver.access.tokens.account_tokens import AUDIENCES, AccountTokens
from plimsoll.apiserver.access.tokens.jwt import InvalidTokenError
from plimsoll.apiserver.access.users import ADMIN, ANONYMOUS
from plimsoll.apiserver.http.identity import Authenticator, user_for_certificate
from plimsoll.apiserver.model.status import ApiError
from plimsoll.runtime.clock import SteppedClock


def authenticator(token: str) -> Authenticator:
    return Authenticator(AccountTokens(NoObjects(), SteppedClock().now), admin_token=token)


def test_the_token_makes_an_administrator() -> None:
    known = authenticator("secret")
    assert known.user({"authorization": "Bearer secret"}, None) == ADMIN
    assert known.user({"authorization": "bearer  secret "}, None) == ADMIN
    assert known.user({"authorization": ""}, None) == ANONYMOUS
    assert known.user({}, None) == ANONYMOUS


@pytest.mark.parametrize(
    ("header", "token"),
    [
        pytest.param("Bearer wrong", "secret", id="wrong-token"),
        pytest.param("Bearer secre", "secret", id="half-a-token"),
        pytest.param("Basic secret", "secret", id="wrong-scheme"),
        pytest.param("secret", "secret", id="no-scheme"),
        pytest.param("Bearer \xe4", "secret", id="beyond-ascii"),
        pytest.param("Bearer \xe4.\xe4.\xe4", "secret", id="beyond-ascii-in-parts"),
        pytest.param("Bearer e30.e30.e30", "secret", id="empty-parts"),
        pytest.param("Bearer ", "", id="nothing-for-a-lost-token"),
        pytest.param("Bearer", "", id="no-token-for-a-lost-token"),
    ],
)
def test_a_client_that_shows_something_else_is_refused(header: str, token: str) -> None:
    with pytest.raises(ApiError) as refused:
        authenticator(token).user({"authorization": header}, None)
    assert refused.value.code == 401


def test_a_token_for_others_is_refused() -> None:
    known = authenticator("secret")
    assert known.identify("secret", ("other", *AUDIENCES)).audiences == AUDIENCES
    with pytest.raises(InvalidTokenError, match="target audiences"):
        known.identify("secret", ("other",))


def test_a_certificate_names_its_user_and_groups() -> None:
    subject = ((("organizationName", "system:masters"),), (("commonName", "admin"),))
    user = user_for_certificate({"subject": subject})
    assert (user.name, user.is_admin) == ("admin", True)
    assert user.groups == ("system:masters", "system:authenticated")
    assert not user_for_certificate({"subject": ((("commonName", "system:masters"),),)}).is_admin


@pytest.mark.parametrize("subject", [(), ((("organizationName", "system:masters"),),)])
def test_a_certificate_without_a_common_name_names_no_user(subject: object) -> None:
    assert user_for_certificate({"subject": subject}) == ANONYMOUS
