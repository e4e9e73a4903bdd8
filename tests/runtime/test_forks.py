"""Commands are started beside gRPC without being harmed by it."""

import subprocess
import sys

BESIDE_GRPC = """
import asyncio
from plimsoll.runtime.forks import leave_forks_alone
leave_forks_alone()
import grpc.aio, uvloop
from plimsoll.runtime.commands import run

async def main():
    server = grpc.aio.server()
    server.add_insecure_port("unix-abstract:plimsoll-test-forks")
    await server.start()
    for _ in range(20):
        await run(["true"])
    await server.stop(None)

uvloop.run(main())
"""


def test_a_command_beside_grpc_runs_and_nothing_is_remarked_on() -> None:
    completed = subprocess.run(
        [sys.executable, "-c", BESIDE_GRPC], capture_output=True, text=True, timeout=60, check=False
    )
    assert (completed.returncode, completed.stderr) == (0, "")
