"""The config map that says since when uses of tokens in secrets are noted.

kube-controller-manager looks there before it believes that a token without a note was not used.
"""

from datetime import date

from plimsoll.apiserver.access.tokens.secret_uses import day_of
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.upkeep.keeper import Place
from plimsoll.apiserver.upkeep.own_writes import OwnWrites

NAMESPACE, NAME = "kube-system", "kube-apiserver-legacy-service-account-token-tracking"
KEY = f"{NAMESPACE}/{NAME}"
SINCE = "since"


class TokenTracking:
    collections = frozenset({"configmaps"})

    def __init__(self, cluster: StoredCluster) -> None:
        self._clock = cluster.clock
        self._maps = OwnWrites(cluster, ("", "v1", "configmaps"))

    def wants(self, _collection: str, record: StoredRecord) -> bool:
        return record.key == KEY

    def keep(self, _changed: frozenset[Place]) -> None:
        data = {SINCE: day_of(self._clock.now())}
        held = self._maps.find(KEY)
        if held is None:
            self._maps.create({"metadata": {"name": NAME, "namespace": NAMESPACE}, "data": data})
            return
        document = self._maps.document(held)
        known = document.get("data") or {}
        if not _is_day(known.get(SINCE, "")):
            self._maps.update(document | {"data": known | data}, held)


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
