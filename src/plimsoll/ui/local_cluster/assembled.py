"""What the two processes of the light form have in common: kept settings, parts and their pages."""

import gc
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import msgspec

from plimsoll.runtime.clock import Clock
from plimsoll.runtime.config import ConfigError
from plimsoll.runtime.ids import system_chance
from plimsoll.runtime.supervise import Supervision
from plimsoll.ui.local_cluster import kept_settings
from plimsoll.ui.local_cluster.children import AGAIN
from plimsoll.ui.local_cluster.layout import ClusterOptions
from plimsoll.ui.parts.assembly import Assembly, Part, begun_within
from plimsoll.wire.health import LOOPBACK, serving, usual_pages

BEGIN_WITHIN = timedelta(seconds=5)
"""How long a process is not ready because a part waits, for a lease or for the other process. It
must not be longer than the supervisor waits for the process: the other parts are at work."""
LOOK = timedelta(milliseconds=25)
"""How often one process looks whether the other is there; both start at the same time."""


def kept_options(data_dir: Path) -> ClusterOptions:
    """What the directory keeps. Raises ConfigError."""
    kept = kept_settings.read(data_dir)
    if kept is None:
        raise ConfigError(f"--data-dir: there is no cluster in {data_dir}; plimsoll up makes one")
    return ClusterOptions(data_dir=data_dir, **msgspec.structs.asdict(kept))


def supervision(clock: Clock, expected: tuple[type[Exception], ...] = ()) -> Supervision:
    return Supervision(clock=clock, chance=system_chance(), backoff=AGAIN, expected=expected)


async def run_parts(
    process: str,
    parts: Mapping[str, Part],
    with_: Supervision,
    on_begin: Callable[[list[str]], None],
) -> None:
    """Until cancelled. The process has pages of its own, and each part has its pages beside them.

    Once all parts have begun, `on_begin` gets the addresses: a name and where, each.
    """
    limited = {name: begun_within(BEGIN_WITHIN, part, with_.clock) for name, part in parts.items()}
    assembly = Assembly(limited, with_)
    pages = {process: usual_pages(with_.metrics, assembly.ready)}
    pages |= {name: assembly.pages(name) for name in assembly.names}
    async with AsyncExitStack() as stack:
        ports = {
            name: await stack.enter_async_context(serving(0, shown))
            for name, shown in pages.items()
        }
        addresses = [f"{name} http://{LOOPBACK}:{port}/metrics" for name, port in ports.items()]

        def begun() -> None:
            # What was loaded stays for long: the collector need not look at it again and again,
            # which would hold up every part at once.
            gc.collect()
            gc.freeze()
            on_begin(addresses)

        await assembly.run(begun)


async def until(is_so: Callable[[], Awaitable[bool]], clock: Clock) -> None:
    while not await is_so():
        await clock.sleep(LOOK)
