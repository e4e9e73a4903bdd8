"""The class of claims that do not name one."""

from collections.abc import Iterable
from datetime import UTC, datetime

from plimsoll.api.storage import StorageClass

LONG_AGO = datetime.min.replace(tzinfo=UTC)


def find_default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """The newest of those marked as default; of equally old ones the first by name."""
    defaults = sorted((class_ for class_ in classes if class_.is_default), key=_name)
    return max(defaults, key=_created_at, default=None)


def _name(class_: StorageClass) -> str:
    return class_.name


def _created_at(class_: StorageClass) -> datetime:
    return class_.metadata.creation_timestamp or LONG_AGO
