import asyncio
import subprocess
import sys
import threading

from plimsoll.runtime.blocking import in_thread

HANG = """
import asyncio, threading
from plimsoll.runtime.blocking import in_thread

async def main():
    hung = asyncio.ensure_future(in_thread(threading.Event().wait))
    await asyncio.sleep(0.05)

asyncio.run(main())
"""


async def test_calls_that_never_return_hold_up_no_others() -> None:
    go_on = threading.Event()
    hung = [asyncio.ensure_future(in_thread(go_on.wait)) for _ in range(64)]
    assert await asyncio.wait_for(in_thread(lambda: "done"), 30) == "done"
    go_on.set()
    assert await asyncio.gather(*hung) == [True] * 64


def test_a_call_that_never_returns_does_not_keep_the_process_from_ending() -> None:
    ended = subprocess.run([sys.executable, "-c", HANG], check=True, timeout=60)
    assert ended.returncode == 0
