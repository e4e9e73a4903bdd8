"""When tokens of secrets were used last, as labels of the secrets say it; pure.

Such tokens have no end of their own. kube-controller-manager marks those as invalid that were not
used for long, and deletes them later.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from plimsoll.api.registry import Document

LAST_USED = "kubernetes.io/legacy-token-last-used"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"


def day_of(moment: datetime) -> str:
    return moment.date().isoformat()


class SecretUses:
    """The uses that are not on the label of their secret yet."""

    def __init__(self) -> None:
        self._days: dict[str, str] = {}
        self._follow: Callable[[str], None] | None = None

    def follow(self, told: Callable[[str], None]) -> None:
        """Call it with the key of each secret whose label has to be written."""
        self._follow = told

    def note(self, key: str, secret: Document, now: datetime) -> None:
        """A use at this time. A label of tomorrow is from a server whose clock is ahead."""
        today, tomorrow = day_of(now), day_of(now + timedelta(days=1))
        if (secret["metadata"].get("labels") or {}).get(LAST_USED) in (today, tomorrow):
            return
        self._days[key] = today
        if self._follow is not None:
            self._follow(key)

    def take(self, key: str) -> str | None:
        """The day of the last use that is still to be written."""
        return self._days.pop(key, None)
