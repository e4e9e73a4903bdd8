"""Finds the provisioners inside this process: those that come along, and installed ones."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TypeVar

from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.processes.controller.in_process.provisioners.protocol import (
    Provisioner,
    ProvisionerEnvironment,
)
from plimsoll.runtime.blocking import Blocking, in_thread

log = logging.getLogger(__name__)

T = TypeVar("T")

GROUP = "plimsoll.provisioners"


class ProvisionerSetupError(ValueError):
    """A provisioner cannot be used. Without it, no program would provision its claims."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What decisions ask a provisioner. It is foreign code: its exceptions do not get out."""

    provisioner: Provisioner

    @property
    def name(self) -> str:
        return self.provisioner.name

    @property
    def takes_mount_options(self) -> bool:
        return self.provisioner.takes_mount_options

    @property
    def recycles(self) -> bool:
        return self.provisioner.recycles

    def objection(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> str:
        try:
            return self.provisioner.objection(claim, storage_class)
        except Exception as error:
            log.exception("provisioner failed", extra={"provisioner": self.name})
            return f"unexpected {type(error).__name__} in provisioner {self.name}"

    def knows(self, volume: PersistentVolume) -> bool:
        try:
            return self.provisioner.knows(volume)
        except Exception:
            log.exception("provisioner failed", extra={"provisioner": self.name})
            return False


class Registry:
    """The provisioners by name; all others are external."""

    def __init__(self, provisioners: Iterable[Provisioner] = ()) -> None:
        self._facts = {provisioner.name: Facts(provisioner) for provisioner in provisioners}

    @property
    def names(self) -> list[str]:
        return sorted(self._facts)

    def get(self, name: str) -> Provisioner | None:
        """To be called; decisions use `find`."""
        facts = self._facts.get(name)
        return None if facts is None else facts.provisioner

    def find(self, name: str) -> Facts | None:
        return self._facts.get(name)

    def find_for_source(self, volume: PersistentVolume) -> Facts | None:
        """The one that knows this kind of volume, even if another created it."""
        known = (self._facts[name] for name in self.names)
        return next((facts for facts in known if facts.knows(volume)), None)


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
    environment = ProvisionerEnvironment(
        directory=where.directory / entry.name.replace("/", "_"),
        options=where.options.get(entry.name, {}),
        blocking=where.blocking,
    )
    try:
        provisioner = entry.load()(environment)
    except KeyError as error:
        raise ProvisionerSetupError(
            f"provisioner {entry.name}: nothing is given for {error}; options are given as"
            f" --provisioner-option {entry.name}:NAME=VALUE"
        ) from error
    except Exception as error:
        raise ProvisionerSetupError(f"provisioner {entry.name}: {error}") from error
    if not isinstance(provisioner, Provisioner) or provisioner.name != entry.name:
        raise ProvisionerSetupError(
            f"provisioner {entry.name}: {entry.value} does not make a Provisioner of that name"
        )
    return provisioner
