"""What a cluster was started with, kept in its directory and compared with what is asked now.

An option that is not given stays as it was. One that differs from what was kept is announced if the
cluster can take it, and refused if it would put what is stored out of reach.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import yaml
from msgspec import Meta

from plimsoll.api.sizes import parse_size
from plimsoll.runtime.config import ConfigError, Settings, Sources, load_settings
from plimsoll.runtime.flags import Flag

FILE_NAME = "settings.yaml"
MOST_NODES = 5000
MOST_REAL_NODES = 16
"""Each has watches and mounts of its own; more than that are hollow unless told otherwise."""


def checked_size(text: str) -> str:
    """As it was written. Raises ValueError."""
    parse_size(text)
    return text


class ClusterSettings(Settings, frozen=True, kw_only=True):
    """The file `settings.yaml` in the directory of a cluster."""

    port: Annotated[
        int,
        Meta(description="Of the API; 0: one that is free at that start, the same from then on."),
        Flag(
            "Of the API; 0 chooses a free one anew.",
            at_least=0,
            at_most=65535,
            default="a free one, then kept",
        ),
    ] = 0
    nodes: Annotated[
        int,
        Flag(
            "Fewer than before only if nothing is kept on those that go.",
            at_least=1,
            at_most=MOST_NODES,
        ),
    ] = 3
    hollow: Annotated[
        bool,
        Meta(description="Nodes that mount nothing, all in one process."),
        Flag(
            "Nodes that mount nothing, all in one process, or real ones.",
            off="real",
            default=f"hollow from {MOST_REAL_NODES + 1} nodes on",
        ),
    ] = False
    disk_size: Annotated[
        str, Flag("Of each of the two disks of a node.", metavar="SIZE", parse=checked_size)
    ] = "10Gi"
    memory: Annotated[
        str, Flag("For volumes in memory, on each node.", metavar="SIZE", parse=checked_size)
    ] = "1Gi"
    pool_size: str = "100Gi"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What the cluster is started with."""

    settings: ClusterSettings
    before: ClusterSettings | None = None
    """None at the first start."""

    @property
    def changes(self) -> tuple[str, ...]:
        """In words for the user: what differs from the last start."""
        if self.before is None:
            return ()
        return tuple(
            f"{option(name)}: {value} before, {self._shown(name)} now"
            for name, value in msgspec.structs.asdict(self.before).items()
            if value != getattr(self.settings, name)
        )

    def _shown(self, name: str) -> str:
        value = getattr(self.settings, name)
        return "a free one" if name == "port" and value == 0 else str(value)


def option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def settle(before: ClusterSettings | None, asked: Mapping[str, Any]) -> Settlement:
    """`asked` has the options that were given, by name. Raises ConfigError."""
    given = {name: value for name, value in asked.items() if value is not None}
    settings = msgspec.structs.replace(before or ClusterSettings(), **given)
    if "hollow" not in given and ("nodes" in given or before is None):
        settings = msgspec.structs.replace(settings, hollow=settings.nodes > MOST_REAL_NODES)
    if before is not None and settings.hollow != before.hollow:
        raise ConfigError(
            f"the cluster has {before.nodes} {_kind(before)} nodes, and {settings.nodes} "
            f"{_kind(settings)} ones were asked for: volumes of one kind cannot be used by the "
            f"other; add --{_kind(before)}, or give another --data-dir"
        )
    return Settlement(settings=settings, before=before)


def _kind(settings: ClusterSettings) -> str:
    return "hollow" if settings.hollow else "real"


def read(directory: Path) -> ClusterSettings | None:
    """None at the first start. Raises ConfigError."""
    path = directory / FILE_NAME
    return load_settings(ClusterSettings, Sources(file=path)) if path.exists() else None


def keep(directory: Path, settings: ClusterSettings) -> None:
    text = yaml.safe_dump(msgspec.to_builtins(settings), sort_keys=False)
    write_if_changed(directory / FILE_NAME, text)


def write_if_changed(path: Path, text: str) -> None:
    """Whole or not at all, whenever the process dies.

    What is there already is not written: the next start needs no room on a full disk.
    """
    if path.exists() and path.read_text() == text:
        return
    draft = path.with_suffix(".new")
    with draft.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
