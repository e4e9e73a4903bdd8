"""Gives the files of a volume to a group, so that containers of that group can use them.

Every file becomes readable and writable for the group, directories also searchable, and new files
inherit the group. Links are given, but not followed.
"""

import os
import stat
from pathlib import Path

from plimsoll.processes.node.directory.seam import Group

READ_WRITE = 0o660
SEARCH = 0o110


def give_files(root: Path, group: Group) -> None:
    if group.only_roots and _is_given(root, group.id):
        return
    # The root is changed last: it says that everything below it is done.
    for directory, directories, files in os.walk(root, topdown=False, followlinks=False):
        for name in (*files, *directories):
            path = os.path.join(directory, name)  # noqa: PTH118 - bare strings: there can be millions
            if name in directories and not os.path.islink(path):  # noqa: PTH114 - same
                continue
            _give(path, group.id)
        _give(directory, group.id)


def _give(path: str, group: int) -> None:
    os.lchown(path, -1, group)
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        return
    mode = stat.S_IMODE(found.st_mode) | READ_WRITE
    if stat.S_ISDIR(found.st_mode):
        mode |= SEARCH | stat.S_ISGID
    os.chmod(path, mode)  # noqa: PTH101 - same as above


def _is_given(root: Path, group: int) -> bool:
    found = root.stat()
    wanted = READ_WRITE | SEARCH | stat.S_ISGID
    return found.st_gid == group and found.st_mode & wanted == wanted
