"""Tells the failures of a process in the foreground, as sentences and exit codes.

Exit code 2 is for what the user can mend in flags and files, 1 for what the process met.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from plimsoll.enact.leading import LeadershipLostError
from plimsoll.runtime.config import ConfigError
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kubeconfig_files import KubeconfigError

Errors = tuple[type[Exception], ...]


@contextmanager
def failures_told(*, usage: Errors = (), failures: Errors = ()) -> Iterator[None]:
    """Turns what a process raises into messages; `usage` and `failures` are its own errors."""
    mendable: Errors = (ConfigError, KubeconfigError, *usage)
    met: Errors = (KubeError, LeadershipLostError, *failures)
    try:
        yield
    except mendable as error:
        raise click.UsageError(str(error)) from error
    except met as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(told(error)) from error


def told(error: OSError) -> str:
    """The file before what is wrong with it, without the number of the error."""
    if error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)
