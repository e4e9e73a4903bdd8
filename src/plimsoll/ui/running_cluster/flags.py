"""The options of commands about a cluster of `plimsoll up` that runs in another terminal."""

from pathlib import Path
from typing import Annotated

from plimsoll.runtime.config import Settings
from plimsoll.runtime.flags import Flag, PathKind
from plimsoll.ui.documents import JSON, TABLE, YAML


class DirectoryFlags(Settings, frozen=True, kw_only=True):
    data_dir: Annotated[str, Flag("The directory of the cluster.", path=PathKind.DIRECTORY)] = (
        "plimsoll-data"
    )

    @property
    def directory(self) -> Path:
        return Path(self.data_dir).absolute()


class StatusFlags(DirectoryFlags, frozen=True, kw_only=True):
    output_format: Annotated[str, Flag(spellings=("-o",), choices=(TABLE, JSON, YAML))] = TABLE
