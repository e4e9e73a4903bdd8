"""Logs a warning when a class describes its pool in a way that makes no sense; the scheduler then
ignores the description.
"""

import logging

from plimsoll.api.meta import ApiObject
from plimsoll.api.storage import StorageClass
from plimsoll.decide.capacity.pools import parse_class_pool

log = logging.getLogger(__name__)


def complain_of_class_pool(before: ApiObject | None, after: ApiObject | None) -> None:
    """Once for each class and each change of its annotations."""
    if not isinstance(after, StorageClass):
        return
    if before is not None and before.annotations == after.annotations:
        return
    try:
        parse_class_pool(after)
    except ValueError as error:
        log.warning("pool of class ignored", extra={"class": after.name, "error": str(error)})
