"""The parts of the machine side: drivers and nodes, which mount, format and keep records."""

from contextlib import AsyncExitStack, nullcontext
from pathlib import Path

from plimsoll.processes.driver.configuration import DriverSettings
from plimsoll.processes.driver.main import DriverProcess
from plimsoll.processes.node.directory.locking import alone_in
from plimsoll.processes.node.main import NodeProcess
from plimsoll.processes.node.settings import COMPONENT as NODE, NodeProcessSettings, nodes_of
from plimsoll.ui.parts.assembly import Part, PartEnvironment, PartLife


def driver(settings: DriverSettings, around: PartEnvironment) -> Part:
    """Raises ConfigError."""

    async def live(life: PartLife) -> None:
        process = DriverProcess(settings, around.clock)
        life.pages = process.pages()
        await process.run(lambda configuration: life.begin())  # noqa: ARG005 - of no use here

    return live


def node(settings: NodeProcessSettings, around: PartEnvironment) -> Part:
    async def live(life: PartLife) -> None:
        nodes = nodes_of(settings)
        with nullcontext() if settings.hollow else alone_in(Path(settings.data_dir)):
            async with AsyncExitStack() as stack:
                client = await around.connected(stack, NODE)
                process = NodeProcess(nodes, client, settings, around.identity().ids)
                life.pages = process.pages()
                life.begin()
                await process.run()

    return live
