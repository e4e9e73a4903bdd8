"""What a call into a library of Ceph reports: a number of the operating system."""

import errno
import os


class LibraryError(Exception):
    def __init__(self, number: int, function: str) -> None:
        super().__init__(f"{function}: {os.strerror(number)} (errno {number})")
        self.errno = number


class NotFoundError(LibraryError):
    """ENOENT."""


class ExistsError(LibraryError):
    """EEXIST."""


class NoDataError(LibraryError):
    """ENODATA: there is no such attribute."""


KINDS = {errno.ENOENT: NotFoundError, errno.EEXIST: ExistsError, errno.ENODATA: NoDataError}


def library_error(code: int, function: str) -> LibraryError:
    """Of the negative number that a function returned."""
    return KINDS.get(-code, LibraryError)(-code, function)
