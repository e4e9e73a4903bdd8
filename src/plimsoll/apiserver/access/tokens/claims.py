"""What tokens of service accounts claim, in kube-apiserver's words; pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.users import account_name

ISSUER = "https://kubernetes.default.svc"
LEGACY_ISSUER = "kubernetes/serviceaccount"
LEGACY = "kubernetes.io/serviceaccount"
LEEWAY = timedelta(minutes=1)
"""Clocks may differ by that much."""
PROJECTED_SECONDS = 3607
"""What pods ask for in the volume that admission adds: such tokens are extended."""
EXTENDED_SECONDS = 365 * 24 * 60 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundObject:
    """An object that must still be there for a token to be valid."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenClaims:
    """The claims of a bound token, or of the token in a secret (`is_legacy`)."""

    namespace: str
    account: str
    account_uid: str
    audiences: tuple[str, ...] = ()
    issued_at: int = 0
    not_before: int = 0
    expires_at: int | None = None
    warn_after: int | None = None
    identifier: str = ""
    bound: BoundObject | None = None
    node: BoundObject | None = None
    """Of a token that is bound to a pod: the pod's node, which need not exist."""
    is_legacy: bool = False

    def document(self) -> Document:
        subject = account_name(self.namespace, self.account)
        if self.is_legacy:
            return {
                "iss": LEGACY_ISSUER,
                f"{LEGACY}/namespace": self.namespace,
                f"{LEGACY}/secret.name": self.bound.name if self.bound else "",
                f"{LEGACY}/service-account.name": self.account,
                f"{LEGACY}/service-account.uid": self.account_uid,
                "sub": subject,
            }
        return {
            "aud": list(self.audiences),
            "exp": self.expires_at,
            "iat": self.issued_at,
            "iss": ISSUER,
            "jti": self.identifier,
            "kubernetes.io": self._private(),
            "nbf": self.not_before,
            "sub": subject,
        }

    def _private(self) -> Document:
        private: Document = {
            "namespace": self.namespace,
            "serviceaccount": {"name": self.account, "uid": self.account_uid},
        }
        for reference in (self.bound, self.node):
            if reference is not None:
                shown = {"name": reference.name, "uid": reference.uid}
                private[reference.kind.lower()] = {k: v for k, v in shown.items() if v}
        if self.warn_after is not None:
            private["warnafter"] = self.warn_after
        return private


def parse_claims(document: Document) -> TokenClaims:
    """Raises ValueError for what this server would not have signed."""
    match document.get("iss"):
        case issuer if issuer == ISSUER:
            return _parse_bound(document)
        case issuer if issuer == LEGACY_ISSUER:
            return _parse_legacy(document)
        case _:
            raise ValueError("the token is of another issuer")


def _parse_bound(document: Document) -> TokenClaims:
    private = document["kubernetes.io"]
    account = private["serviceaccount"]
    references = {
        kind: BoundObject(kind=kind, name=held.get("name", ""), uid=held.get("uid", ""))
        for kind in ("Pod", "Secret", "Node")
        if (held := private.get(kind.lower())) is not None
    }
    node = references.pop("Node", None)
    bound = references.get("Pod") or references.get("Secret") or node
    return TokenClaims(
        namespace=private["namespace"],
        account=account["name"],
        account_uid=account["uid"],
        audiences=tuple(document["aud"]),
        issued_at=document["iat"],
        not_before=document["nbf"],
        expires_at=document["exp"],
        warn_after=private.get("warnafter"),
        identifier=document.get("jti", ""),
        bound=bound,
        node=node if bound is not node else None,
    )


def _parse_legacy(document: Document) -> TokenClaims:
    return TokenClaims(
        namespace=document[f"{LEGACY}/namespace"],
        account=document[f"{LEGACY}/service-account.name"],
        account_uid=document[f"{LEGACY}/service-account.uid"],
        bound=BoundObject(kind="Secret", name=document[f"{LEGACY}/secret.name"], uid=""),
        is_legacy=True,
    )


def timing_error(claims: TokenClaims, now: datetime) -> str | None:
    """Why the token is not valid at this time."""
    moment, leeway = now.timestamp(), LEEWAY.total_seconds()
    if claims.expires_at is not None and moment > claims.expires_at + leeway:
        return "service account token has expired"
    if moment + leeway < claims.not_before:
        return "service account token is not valid yet"
    if moment + leeway < claims.issued_at:
        return "service account token is issued in the future"
    return None
