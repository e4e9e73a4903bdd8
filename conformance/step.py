"""What a step of `make conformance` is, and the ways in which it can end."""

from collections.abc import Callable
from dataclasses import dataclass

from conformance.programs import DiedError
from plimsoll.wire.csi.errors import DriverError
from plimsoll.wire.errors import KubeError
from tests.servers import Endpoint

Say = Callable[[str], None]


class StepFailedError(Exception):
    """The message says what differs."""


class StepSkippedError(Exception):
    """This machine cannot run the step; the message says what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    real: Endpoint
    embedded: Endpoint


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    run: Callable[[Servers], None]


def tell(name: str, run: Callable[[Say], None]) -> None:
    """Print what a check says while it runs; what it said last is where it failed."""
    said: list[str] = []

    def say(title: str) -> None:
        said.append(title)
        print(f"  {name}: {title}", flush=True)

    try:
        run(say)
    except (AssertionError, KubeError, DriverError, DiedError) as error:
        where = said[-1] if said else "start"
        raise StepFailedError(f"{name}: {where}: {error}") from error
