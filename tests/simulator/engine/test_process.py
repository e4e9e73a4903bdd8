"""What becomes of the tasks of a simulated process."""

import asyncio

from plimsoll.simulator.engine.chance import seconds
from plimsoll.simulator.engine.loop import VirtualLoop, run_virtually
from plimsoll.simulator.engine.process import SimulatedProcess


def test_a_process_that_is_buried_ends_its_oldest_task_after_thousands_of_others() -> None:
    ended: list[str] = []

    async def last_for_ever(process: SimulatedProcess) -> None:
        try:
            await process.clock.sleep(seconds(1e6))
        finally:
            ended.append("the oldest")

    async def main(loop: VirtualLoop) -> None:
        process = SimulatedProcess(loop, "server")
        oldest = process.spawn(last_for_ever(process))
        for _ in range(3000):
            await process.spawn(asyncio.sleep(0))
        process.cut()
        await loop.idle()
        assert not ended
        await process.bury()
        assert oldest.cancelled()

    run_virtually(main)
    assert ended == ["the oldest"]
