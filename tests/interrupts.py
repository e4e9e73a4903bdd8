"""Commands that heed Ctrl-C, also where tests run in the background, whose children ignore it."""

import sys

CODE = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""


def interruptible(*command: object) -> list[str]:
    return [sys.executable, "-c", CODE, *map(str, command)]
