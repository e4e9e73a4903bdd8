"""What the objects of one resource in one namespace use up, kept current object by object.

A tally is the same as if all objects were counted anew, in whichever order they came and went.
"""

from collections.abc import Iterable, Mapping

from plimsoll.api.quantity import Quantity
from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.quota.charges import Usage, charge
from plimsoll.apiserver.admission.quota.scopes import Scope, in_scopes
from plimsoll.apiserver.admission.quota.sums import Sum


class QuotaTally:
    def __init__(self, group: str, plural: str, scopes: tuple[Scope, ...]) -> None:
        self._group, self._plural = group, plural
        self._scopes = scopes
        self._sums: dict[str, Sum] = {}

    def add(self, document: Document) -> None:
        for name, amount in self._charged(document).items():
            self._sums.setdefault(name, Sum()).add(amount)

    def take(self, document: Document) -> None:
        """Which was added before, as it was then."""
        for name, amount in self._charged(document).items():
            self._sums[name].take(amount)

    def _charged(self, document: Document) -> Mapping[str, Quantity]:
        if not in_scopes(self._scopes, self._group, self._plural, document):
            return {}
        return charge(self._group, self._plural, document)

    def totals(self, names: Iterable[str]) -> Usage:
        """Of those names under which an object was ever charged."""
        return {name: self._sums[name].total for name in names if name in self._sums}

    def copy(self) -> "QuotaTally":
        other = QuotaTally(self._group, self._plural, self._scopes)
        other._sums = {name: held.copy() for name, held in self._sums.items()}
        return other


def counted(
    group: str, plural: str, scopes: tuple[Scope, ...], documents: Iterable[Document]
) -> QuotaTally:
    """All of them, counted one by one."""
    tally = QuotaTally(group, plural, scopes)
    for document in documents:
        tally.add(document)
    return tally
