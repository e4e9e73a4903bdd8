"""Secrets of the type `kubernetes.io/service-account-token`: the server writes the token into them.

A secret goes when its account is gone. What has a token keeps it, also if another writer put it
there. A label says on which day the token was used last.
"""

from base64 import b64encode

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.tokens.claims import BoundObject, TokenClaims
from plimsoll.apiserver.access.tokens.secret_uses import LAST_USED
from plimsoll.apiserver.model.kinds.config.secret import ACCOUNT_NAME, TOKEN
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.upkeep.keeper import Place
from plimsoll.apiserver.upkeep.own_writes import OwnWrites

ACCOUNT_UID = "kubernetes.io/service-account.uid"


class TokenSecrets:
    collections = frozenset({"secrets", "serviceaccounts"})

    def __init__(self, cluster: StoredCluster, authority: bytes) -> None:
        self._cluster = cluster
        self._authority = authority
        self._secrets = OwnWrites(cluster, ("", "v1", "secrets"))
        self._accounts = OwnWrites(cluster, ("", "v1", "serviceaccounts"))

    def wants(self, collection: str, record: StoredRecord) -> bool:
        return collection == "serviceaccounts" or _is_for_token(record)

    def keep(self, changed: frozenset[Place]) -> None:
        """Each secret that changed, and all of a namespace in which an account changed."""
        keys = {key for collection, key in changed if collection == "secrets"}
        for namespace in {key.partition("/")[0] for name, key in changed if name != "secrets"}:
            records = self._cluster.collection(self._secrets.kind).newest_records(f"{namespace}/")
            keys |= {record.key for record in records if _is_for_token(record)}
        for key in sorted(keys):
            record = self._secrets.find(key)
            if record is not None and _is_for_token(record):
                self._keep(key.partition("/")[0], record)

    def _keep(self, namespace: str, record: StoredRecord) -> None:
        secret = self._secrets.document(record)
        meta = secret["metadata"]
        annotations = meta.get("annotations") or {}
        account = self._find_account(namespace, annotations.get(ACCOUNT_NAME, ""))
        if "deletionTimestamp" in meta:
            return
        known = annotations.get(ACCOUNT_UID)
        if account is None or (known is not None and known != account["uid"]):
            # One that was never filled may be older than its account.
            if known is not None:
                self._secrets.remove(record)
            return
        used_on = self._cluster.authenticator.tokens.uses.take(record.key)
        filled = _marked(self._filled(secret, account), used_on)
        if filled != secret:
            self._secrets.update(filled, record)

    def _find_account(self, namespace: str, name: str) -> Document | None:
        record = self._accounts.find(f"{namespace}/{name}")
        meta: Document | None = None if record is None else record.document()["metadata"]
        return meta

    def _filled(self, secret: Document, account: Document) -> Document:
        meta, data = secret["metadata"], secret.get("data") or {}
        wanted = {
            "ca.crt": b64encode(self._authority).decode(),
            "namespace": b64encode(account["namespace"].encode()).decode(),
        }
        if not data.get("token"):
            token = self._cluster.authenticator.tokens.issue(_claims(meta["name"], account))
            data = data | {"token": b64encode(token.encode()).decode()}
        annotations = meta["annotations"] | {ACCOUNT_UID: account["uid"]}
        return secret | {"metadata": meta | {"annotations": annotations}, "data": data | wanted}


def _marked(secret: Document, used_on: str | None) -> Document:
    if used_on is None:
        return secret
    meta = secret["metadata"]
    labels = (meta.get("labels") or {}) | {LAST_USED: used_on}
    return secret | {"metadata": meta | {"labels": labels}}


def _is_for_token(record: StoredRecord) -> bool:
    return record.fields.get("type") == TOKEN


def _claims(secret: str, account: Document) -> TokenClaims:
    return TokenClaims(
        namespace=account["namespace"],
        account=account["name"],
        account_uid=account["uid"],
        bound=BoundObject(kind="Secret", name=secret, uid=""),
        is_legacy=True,
    )
