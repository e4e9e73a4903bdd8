"""Gives every namespace its default service account: `decide.cluster.service_accounts`."""

from datetime import timedelta

from plimsoll.api.core import Namespace, ServiceAccount
from plimsoll.api.meta import ObjectKey
from plimsoll.cache.store import StoreChange
from plimsoll.decide.cluster.service_accounts import DEFAULT_ACCOUNT, decide_default_account
from plimsoll.reconcile.loop import Loop, Tools


class ServiceAccounts(Loop):
    name = "service-accounts"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._namespaces = tools.observed.of(Namespace)
        self._accounts = tools.observed.of(ServiceAccount)
        self._namespaces.on_change(self.add_changed)
        self._accounts.on_change(self._account_changed)

    def _account_changed(self, change: StoreChange[ServiceAccount]) -> None:
        if change.after is None and change.key.name == DEFAULT_ACCOUNT:
            self.queue.add(ObjectKey("", change.key.namespace))

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        namespace = self._namespaces.view().get(key)
        if namespace is not None:
            plan = decide_default_account(namespace, self._accounts.view().objects.keys())
            await self.enact(key, plan)
        return None
