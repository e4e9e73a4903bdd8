"""Commands and gRPC in one process.

gRPC wraps every fork of a process in handlers of its own, for children that go on to use gRPC. Ours
never do: they become another program at once. The handlers only do harm: while calls are under way
a child can die of them before that (with signal 11), and each one is remarked on in the log.
"""

import os

SWITCH = "GRPC_ENABLE_FORK_SUPPORT"


def leave_forks_alone() -> None:
    """To be called before gRPC is imported: it looks at the environment only then."""
    os.environ.setdefault(SWITCH, "0")
