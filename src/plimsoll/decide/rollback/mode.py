"""Whether unused volumes are taken back at all."""

from datetime import timedelta
from enum import StrEnum

ROLLBACK_AFTER = timedelta(minutes=1)
"""How long a pod must have waited for a node, by default."""


class RollbackMode(StrEnum):
    """As `--rollback` takes them."""

    OFF = "off"
    DRY_RUN = "dry-run"
    """Only tell by events what would be done. What was begun before is brought to an end."""
    ON = "on"
