"""Tokens of service accounts: issued by this server, and valid while what they name exists.

The signature of a token is verified once and remembered; the account and the object that it is
bound to are looked up with every request.
"""

import hmac
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.objects import ObjectRecord, ObjectSource
from plimsoll.apiserver.access.tokens.claims import (
    ISSUER,
    LEEWAY,
    BoundObject,
    TokenClaims,
    parse_claims,
    timing_error,
)
from plimsoll.apiserver.access.tokens.jwt import (
    InvalidTokenError,
    TokenKey,
    new_key,
    sign,
    verified_claims,
)
from plimsoll.apiserver.access.tokens.secret_uses import INVALID_SINCE, SecretUses
from plimsoll.apiserver.access.users import (
    AUTHENTICATED,
    Extra,
    User,
    account_groups,
    account_name,
)

AUDIENCES = (ISSUER,)
"""Tokens for one of these are for this server."""
REMEMBERED = 4096
LONGEST = 16 * 1024
"""Of a token, in characters."""
INVALIDATED = "service account token has been invalidated"
COLLECTIONS = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenIdentity:
    user: User
    audiences: tuple[str, ...]


@dataclass(slots=True)
class _Verified:
    """A token whose signature is right, and the versions of objects that it was found valid for."""

    claims: TokenClaims
    identity: TokenIdentity
    valid_for: tuple[ObjectRecord | None, ...] = field(default=())
    used_on: date | None = None
    """When the token of a secret was noted as used, since one of these versions was there."""


class AccountTokens:
    def __init__(
        self, objects: ObjectSource, now: Callable[[], datetime], key: TokenKey | None = None
    ) -> None:
        """Without a key, one is made when the first token is issued, and lost with the server."""
        self._objects = objects
        self._now = now
        self._given_key = key
        self._verified: dict[str, _Verified] = {}
        self.uses = SecretUses()

    @cached_property
    def key(self) -> TokenKey:
        return self._given_key or new_key()

    def issue(self, claims: TokenClaims) -> str:
        return sign(claims.document(), self.key)

    def identify(self, token: str) -> TokenIdentity:
        """Whose token it is, whatever it is meant for. Raises InvalidTokenError."""
        found = self._verified.get(token) or self._verify(token)
        against = timing_error(found.claims, self._now())
        if against is not None:
            raise InvalidTokenError(against)
        self._check_objects(token, found)
        return found.identity

    def _verify(self, token: str) -> _Verified:
        if len(token) > LONGEST:
            raise InvalidTokenError("the token is too long")
        document = verified_claims(token, self.key)
        try:
            claims = parse_claims(document)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidTokenError("the token lacks claims") from error
        if len(self._verified) >= REMEMBERED:
            self._verified.clear()
        found = self._verified[token] = _Verified(claims, _identity(claims))
        return found

    def _check_objects(self, token: str, found: _Verified) -> None:
        claims = found.claims
        records = self._named_records(claims)
        if found.valid_for and all(
            now is before for now, before in zip(records, found.valid_for, strict=True)
        ):
            if claims.is_legacy and found.used_on != self._now().date():
                self._note_use(found, records[1])
            return
        documents = [None if each is None else each.document() for each in records]
        found.valid_for = ()
        self._check_account(claims, documents[0])
        if claims.bound is not None:
            if claims.is_legacy:
                _check_stored_token(documents[1], token)
                self._note_use(found, records[1])
                _check_invalidation(documents[1])
            else:
                self._check_bound(claims.bound, documents[1])
        if not any((each or {}).get("metadata", {}).get("deletionTimestamp") for each in documents):
            found.valid_for = records

    def _note_use(self, found: _Verified, secret: ObjectRecord | None) -> None:
        claims, now = found.claims, self._now()
        if secret is not None and claims.bound is not None:
            self.uses.note(f"{claims.namespace}/{claims.bound.name}", secret.document(), now)
            found.used_on = now.date()

    def _named_records(self, claims: TokenClaims) -> tuple[ObjectRecord | None, ...]:
        account = self._objects.find("serviceaccounts", f"{claims.namespace}/{claims.account}")
        if claims.bound is None:
            return (account,)
        kind, name = claims.bound.kind, claims.bound.name
        key = name if kind == "Node" else f"{claims.namespace}/{name}"
        return (account, self._objects.find(COLLECTIONS[kind], key))

    def _check_account(self, claims: TokenClaims, account: Document | None) -> None:
        if account is None:
            raise InvalidTokenError(f'serviceaccounts "{claims.account}" not found')
        if account["metadata"]["uid"] != claims.account_uid:
            raise InvalidTokenError(
                f"service account UID ({account['metadata']['uid']}) does not match claim "
                f"({claims.account_uid})"
            )
        if self._is_gone(account):
            raise InvalidTokenError(
                f"service account {claims.namespace}/{claims.account} has been deleted"
            )

    def _check_bound(self, bound: BoundObject, held: Document | None) -> None:
        if held is None or self._is_gone(held):
            raise InvalidTokenError(INVALIDATED)
        if held["metadata"]["uid"] != bound.uid:
            kind = bound.kind.lower()
            raise InvalidTokenError(
                f"{kind} UID ({held['metadata']['uid']}) does not match service account {kind} "
                f"ref claim ({bound.uid})"
            )

    def _is_gone(self, document: Document) -> bool:
        """Deleted for longer than clocks may differ, even if it is not removed yet."""
        text = document["metadata"].get("deletionTimestamp")
        return text is not None and datetime.fromisoformat(text) < self._now() - LEEWAY


def _check_stored_token(secret: Document | None, token: str) -> None:
    if secret is None or "deletionTimestamp" in secret["metadata"]:
        raise InvalidTokenError("Token has been invalidated")
    held = b64decode((secret.get("data") or {}).get("token", ""))
    if not hmac.compare_digest(held, token.encode()):
        raise InvalidTokenError("Token does not match server's copy")


def _check_invalidation(secret: Document | None) -> None:
    meta = {} if secret is None else secret["metadata"]
    if (meta.get("labels") or {}).get(INVALID_SINCE):
        raise InvalidTokenError(
            f"the token in secret {meta['namespace']}/{meta['name']} has been marked invalid. Use "
            f"tokens from the TokenRequest API or manually created secret-based tokens, or remove "
            f"the '{INVALID_SINCE}' label from the secret to temporarily allow use of this token"
        )


def _identity(claims: TokenClaims) -> TokenIdentity:
    user = User(
        name=account_name(claims.namespace, claims.account),
        groups=(*account_groups(claims.namespace), AUTHENTICATED),
        uid=claims.account_uid,
        extra=_extra(claims),
    )
    return TokenIdentity(user=user, audiences=claims.audiences or AUDIENCES)


def _extra(claims: TokenClaims) -> Extra:
    known: dict[str, tuple[str, ...]] = {}
    prefix = "authentication.kubernetes.io"
    if claims.identifier:
        known[f"{prefix}/credential-id"] = (f"JTI={claims.identifier}",)
    for reference in (claims.bound, claims.node):
        if reference is not None and reference.kind in ("Pod", "Node"):
            kind = reference.kind.lower()
            known[f"{prefix}/{kind}-name"] = (reference.name,)
            if reference.uid:
                known[f"{prefix}/{kind}-uid"] = (reference.uid,)
    return tuple(sorted(known.items()))
