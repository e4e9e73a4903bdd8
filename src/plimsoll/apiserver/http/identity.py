"""Who sends a request: the bearer token or the certificate that it comes with."""

import hmac
from collections.abc import Mapping

from plimsoll.apiserver.access.tokens.account_tokens import (
    AUDIENCES,
    AccountTokens,
    TokenIdentity,
)
from plimsoll.apiserver.access.tokens.jwt import InvalidTokenError
from plimsoll.apiserver.access.users import ADMIN, ANONYMOUS, AUTHENTICATED, User
from plimsoll.apiserver.model.status import ApiError

AUTHORIZATION = "authorization"


class Authenticator:
    """Knows the administrator's token and those of service accounts."""

    def __init__(self, tokens: AccountTokens, *, admin_token: str = "") -> None:
        self.tokens = tokens
        self._admin_token = admin_token.encode()

    def user(self, headers: Mapping[str, str], certificate: dict[str, object] | None) -> User:
        """Raises 401 for a token that is not valid; who shows nothing is anonymous."""
        if AUTHORIZATION in headers:
            return self._user_for_header(headers[AUTHORIZATION])
        return ANONYMOUS if certificate is None else user_for_certificate(certificate)

    def _user_for_header(self, header: str) -> User:
        if not header:
            return ANONYMOUS
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer":
            raise unauthorized()
        try:
            return self.identify(token.strip(), AUDIENCES).user
        except InvalidTokenError as error:
            raise unauthorized() from error

    def identify(self, token: str, audiences: tuple[str, ...]) -> TokenIdentity:
        """Whose token it is, if it is meant for one of the audiences. Raises InvalidTokenError."""
        given = token.encode()
        # An empty token belongs to no user, even where the known one was lost.
        if given and hmac.compare_digest(given, self._admin_token):
            found = TokenIdentity(user=ADMIN, audiences=AUDIENCES)
        else:
            found = self.tokens.identify(token)
        meant = tuple(each for each in audiences if each in found.audiences)
        if not meant:
            raise InvalidTokenError(
                f"token audiences {_listed(found.audiences)} is invalid for the target audiences "
                f"{_listed(audiences)}"
            )
        return TokenIdentity(user=found.user, audiences=meant)


def _listed(audiences: tuple[str, ...]) -> str:
    return "[" + " ".join(f'"{each}"' for each in audiences) + "]"


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def user_for_certificate(certificate: dict[str, object]) -> User:
    """The user that a client certificate names: common name, organizations as groups.

    Without a common name it names no user.
    """
    names: dict[str, list[str]] = {}
    subject = certificate.get("subject", ())
    if isinstance(subject, tuple):
        for part in subject:
            for key, value in part:
                names.setdefault(key, []).append(value)
    common = names.get("commonName", [""])[0]
    if not common:
        return ANONYMOUS
    return User(name=common, groups=(*names.get("organizationName", ()), AUTHENTICATED))
