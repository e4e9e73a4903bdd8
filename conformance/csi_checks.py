"""Drivers and sidecars on any API server: which of them are ours, and which are the originals."""

import contextlib
import functools
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from conformance.csi_backends import Ground, two_disks, zonal_pools
from conformance.csi_drivers import HOSTPATH_NAME, Driver, hostpathplugin, our_driver
from conformance.csi_sidecars import Sidecar, install_snapshot_kinds, last_words
from conformance.csi_stories import Scene, Story, tell

Say = Callable[[str], None]
Program = Callable[[Path, Path], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """A kind of driver: how it is started, and what its class is made of."""

    name: str
    start: Callable[..., AbstractContextManager[Driver]]
    ground: Ground
    parameters: Mapping[str, str] = field(default_factory=dict)


def simulated_capacity(**sizes: str) -> Ground:
    """What hostpathplugin shall say that it has, for each kind of volumes."""

    @contextlib.contextmanager
    def ground(_directory: Path) -> Iterator[tuple[str, ...]]:
        yield tuple(f"--capacity={kind}={size}" for kind, size in sizes.items())

    return ground


HOSTPATH = Kit(
    name=HOSTPATH_NAME,
    start=hostpathplugin,
    ground=simulated_capacity(slow="1Gi", fast="2Gi"),
    parameters={"kind": "fast"},
)
OUR_LOCAL = Kit(name="local.plimsoll.dev", start=our_driver, ground=two_disks)
OUR_POOLS = Kit(
    name="pools.plimsoll.dev", start=our_driver, ground=zonal_pools, parameters={"kind": "zonal"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Which programs take part, on which API server."""

    kubeconfig: Path
    kit: Kit
    controller: Program
    """Binds claims."""
    sidecars: tuple[Sidecar, ...]


def play(cast: Cast, stories: tuple[Story, ...], say: Say) -> None:
    """Raises AssertionError when a story does not end as it should, or something is left."""
    install_snapshot_kinds(cast.kubeconfig)
    with a_driver(cast.kit) as driver, contextlib.ExitStack() as running:
        running.enter_context(cast.controller(cast.kubeconfig, driver.directory))
        for sidecar in cast.sidecars:
            running.enter_context(sidecar(cast.kubeconfig, driver))
        scene = functools.partial(Scene, driver=driver, parameters=cast.kit.parameters)
        uvloop.run(tell(cast.kubeconfig, scene, stories, say))


@contextlib.contextmanager
def a_driver(kit: Kit) -> Iterator[Driver]:
    """A driver in a directory of its own, on a node whose name no other driver has."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-csi-") as name:
        own = Path(name).name.removeprefix("plimsoll-csi-").replace("_", "0")
        directory = Path(name)
        driver = Driver(name=kit.name, node=f"node-{own}", directory=directory / "driver")
        with (
            last_words(driver),
            kit.ground(directory) as flags,
            kit.start(driver, *flags),
        ):
            yield driver
