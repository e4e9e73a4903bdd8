"""Every active namespace has a default service account, for pods that name none."""

from collections.abc import Collection
from enum import StrEnum

from plimsoll.api.core import Namespace
from plimsoll.api.meta import ObjectKey
from plimsoll.decide.plan import NOTHING, Create, Plan, ResourceName

ACCOUNTS = ResourceName("", "v1", "serviceaccounts")
DEFAULT_ACCOUNT = "default"
ACTIVE = "Active"


class ServiceAccountReason(StrEnum):
    MISSING = "DefaultServiceAccountMissing"


def decide_default_account(namespace: Namespace, accounts: Collection[ObjectKey]) -> Plan:
    key = ObjectKey(namespace.name, DEFAULT_ACCOUNT)
    if namespace.status.phase != ACTIVE or key in accounts:
        return NOTHING
    document = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"namespace": key.namespace, "name": key.name},
    }
    return Plan(
        reason=ServiceAccountReason.MISSING, writes=(Create(resource=ACCOUNTS, document=document),)
    )
