"""One node that this process runs: its name, its drivers, its directory and its locks."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from weakref import WeakValueDictionary

from plimsoll.decide.csi.devices import Device
from plimsoll.decide.node.node_object import Machine
from plimsoll.processes.node.directory.protocol import Directory
from plimsoll.processes.node.drivers import RegisteredDrivers
from plimsoll.processes.node.plugins import Plugins


@dataclass(slots=True, kw_only=True)
class ServedNode:
    machine: Machine
    directory: Directory
    plugins: Plugins
    network: IPv4Network
    """Where its pods' addresses are from; they cannot be reached."""
    drivers: RegisteredDrivers = field(default_factory=RegisteredDrivers)
    is_introduced: bool = False
    """Each driver that was there when the process started was registered, or refused, once. Before
    that a scheduler finds no limit on how many of their volumes the node can have."""
    announced: frozenset[str] = frozenset()
    """Devices that the server surely has in the node's volumesInUse, by their unique names. One
    that is about to be taken out is not in it any more."""
    wakers: list[Callable[[], None]] = field(default_factory=list)
    """Called when a driver came or went, or all have been introduced."""
    addresses: dict[str, str] = field(default_factory=dict)
    """Given to pods, by uid; what pods report themselves counts as well."""
    admission: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a pod is taken: the next one is judged with it."""
    registering: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a driver is written down: two that came at once would overtake each other."""
    _locks: WeakValueDictionary[Device, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    @property
    def name(self) -> str:
        return self.machine.name

    def lock(self, device: Device) -> asyncio.Lock:
        """Held during a driver call for a device: stage and unstage never overlap."""
        found = self._locks.get(device)
        if found is None:
            found = self._locks[device] = asyncio.Lock()
        return found

    def wake(self) -> None:
        for waker in self.wakers:
            waker()
