"""Finds the provisioners inside this process: those that come along, and installed ones."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TypeVar

from plimsoll.api.volumes import PersistentVolume
from plimsoll.processes.controller.provisioners.protocol import Blocking, Provisioner, Surroundings

T = TypeVar("T")

GROUP = "plimsoll.provisioners"


class ProvisionerSetupError(ValueError):
    """A provisioner cannot be used. Going on without it would leave its claims to nobody."""


class Registry:
    """The provisioners by name; all others are external."""

    def __init__(self, provisioners: Iterable[Provisioner] = ()) -> None:
        self._by_name = {provisioner.name: provisioner for provisioner in provisioners}

    @property
    def names(self) -> list[str]:
        return sorted(self._by_name)

    def find(self, name: str) -> Provisioner | None:
        return self._by_name.get(name)

    def find_for_source(self, volume: PersistentVolume) -> Provisioner | None:
        """The one that knows this kind of volume, whoever made it."""
        known = (self._by_name[name] for name in self.names)
        return next((provisioner for provisioner in known if provisioner.knows(volume)), None)


async def in_thread(function: Callable[[], T], /) -> T:
    return await asyncio.to_thread(function)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    directory: Path
    """Each provisioner gets a directory below it."""
    options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By name of the provisioner."""
    blocking: Blocking = in_thread


def installed(where: Installation) -> Registry:
    """Everything that the entry points name. Raises ProvisionerSetupError."""
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if strangers := sorted(set(where.options) - set(found)):
        raise ProvisionerSetupError(
            f"options for {', '.join(strangers)}, but installed are only {', '.join(sorted(found))}"
        )
    return Registry(_make(found[name], where) for name in sorted(found))


def _make(entry: EntryPoint, where: Installation) -> Provisioner:
    surroundings = Surroundings(
        directory=where.directory / entry.name.replace("/", "_"),
        options=where.options.get(entry.name, {}),
        blocking=where.blocking,
    )
    try:
        provisioner = entry.load()(surroundings)
    except Exception as error:
        raise ProvisionerSetupError(f"provisioner {entry.name}: {error}") from error
    if not isinstance(provisioner, Provisioner) or provisioner.name != entry.name:
        raise ProvisionerSetupError(
            f"provisioner {entry.name}: {entry.value} does not make a Provisioner of that name"
        )
    return provisioner
