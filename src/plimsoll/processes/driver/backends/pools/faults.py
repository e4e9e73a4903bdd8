"""What goes wrong on purpose, by a script that can be changed while the driver runs.

The script is the file `faults.yaml` in the data directory, read anew at every call:

    - {call: CreateVolume, do: fail, code: RESOURCE_EXHAUSTED, times: 3}
    - {call: CreateVolume, do: hang, seconds: 30, pool: fast-a}
    - {call: DeleteVolume, do: crash}
    - {do: lie, factor: 2, offset: 10Gi, pool: fast-a}

Each entry counts for so many calls (`times`; 0: for all). What was used up is written down before
the fault strikes, so that a driver that crashes once is not caught in crashing; a changed file
begins anew. Code in the same process can set the script without a file.
"""

import hashlib
import os
import signal
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

import msgspec
import yaml
from grpc import StatusCode

from plimsoll.api.quantity import parse_bytes
from plimsoll.runtime.clock import Clock
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.refusals import internal

FILE_NAME = "faults.yaml"
STATE_NAME = "faults.state"
LOOK_AGAIN_AFTER = timedelta(milliseconds=100)


class FaultyCall(StrEnum):
    """What the caller of the driver calls it."""

    CREATE = "CreateVolume"
    DELETE = "DeleteVolume"
    EXPAND = "ControllerExpandVolume"
    MODIFY = "ControllerModifyVolume"
    SNAPSHOT = "CreateSnapshot"
    DELETE_SNAPSHOT = "DeleteSnapshot"
    ATTACH = "ControllerPublishVolume"
    DETACH = "ControllerUnpublishVolume"
    STAGE = "NodeStageVolume"
    UNSTAGE = "NodeUnstageVolume"


class When(StrEnum):
    BEFORE = "before"
    """Nothing has happened yet."""
    AFTER = "after"
    """Everything has happened, only the answer is missing."""


class FaultRule(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do"
):
    pool: str = ""
    """Only for volumes in this pool."""


class Fail(FaultRule, frozen=True, kw_only=True, tag="fail"):
    call: FaultyCall
    code: str = StatusCode.INTERNAL.name
    message: str = "failed on purpose"
    when: When = When.BEFORE
    times: int = 1


class Hang(FaultRule, frozen=True, kw_only=True, tag="hang"):
    """Until the script changes, or for so long; then it goes on."""

    call: FaultyCall
    seconds: float | None = None
    when: When = When.BEFORE
    times: int = 1


class Crash(FaultRule, frozen=True, kw_only=True, tag="crash"):
    call: FaultyCall
    when: When = When.AFTER
    times: int = 1


class Lie(FaultRule, frozen=True, kw_only=True, tag="lie"):
    """About free capacity: what is told is `free * factor + offset`."""

    factor: float = 1
    offset: str | int = 0


Fault = Fail | Hang | Crash
Script = tuple[Fault | Lie, ...]


class _State(msgspec.Struct, frozen=True, kw_only=True):
    script: str
    used: dict[str, int]
    """By the place of the entry."""


def die() -> None:
    """As if by `kill -9`: nothing is tidied up."""
    os.kill(os.getpid(), signal.SIGKILL)


class Faults:
    """Without a directory there is no file, and the script is what was set last."""

    def __init__(
        self, directory: Path | None, clock: Clock, *, crash: Callable[[], None] = die
    ) -> None:
        self._directory = directory
        self._clock = clock
        self.crash = crash
        self._set: Script = ()
        self._generation = 0
        self._state = _State(script="", used={})
        if directory is not None:
            self._state = _read_state(directory / STATE_NAME)

    def set(self, *script: Fault | Lie) -> None:
        """Instead of whatever was set before; hanging calls go on."""
        self._set = script
        self._generation += 1

    async def strike(self, call: FaultyCall, pools: Collection[str], when: When) -> None:
        """Raises CsiStatusError, or does not return, if the script says so."""
        fault = self._take(call, pools, when)
        match fault:
            case None:
                return
            case Fail(code=code, message=message):
                raise CsiStatusError(_code(code), f"{call}: {message}")
            case Hang(seconds=seconds):
                await self._hang(seconds)
            case Crash():
                self.crash()

    def lies(self) -> tuple[Lie, ...]:
        """What the script says of capacity."""
        return tuple(rule for rule in self._read()[1] if isinstance(rule, Lie))

    def told_bytes(self, pool: str, free_bytes: int) -> int:
        return told_bytes(self.lies(), pool, free_bytes)

    def _take(self, call: FaultyCall, pools: Collection[str], when: When) -> Fault | None:
        name, script = self._read()
        used = self._state.used if self._state.script == name else {}
        for place, fault in enumerate(script):
            if isinstance(fault, Lie) or (fault.call, fault.when) != (call, when):
                continue
            if fault.pool and fault.pool not in pools:
                continue
            times = used.get(str(place), 0)
            if fault.times and times >= fault.times:
                continue
            self._use(_State(script=name, used={**used, str(place): times + 1}))
            return fault
        return None

    def _use(self, state: _State) -> None:
        self._state = state
        if self._directory is not None:
            path = self._directory / STATE_NAME
            draft = path.with_suffix(".new")
            draft.write_bytes(msgspec.json.encode(state))
            draft.replace(path)

    def _read(self) -> tuple[str, Script]:
        """What names the script, so that a change is noticed, and the script."""
        if self._set or self._directory is None:
            return f"set {self._generation}", self._set
        path = self._directory / FILE_NAME
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            return f"none {self._generation}", ()
        try:
            script = msgspec.convert(yaml.safe_load(raw) or [], Script)
        except (yaml.YAMLError, msgspec.ValidationError) as error:
            known = f"; known are {', '.join(FaultyCall)}" if ".call" in str(error) else ""
            raise internal(f"{path}: {error}{known}") from error
        return hashlib.sha256(raw).hexdigest(), script

    async def _hang(self, seconds: float | None) -> None:
        name, _ = self._read()
        until = None if seconds is None else self._clock.monotonic() + seconds
        while self._read()[0] == name and (until is None or self._clock.monotonic() < until):
            await self._clock.sleep(LOOK_AGAIN_AFTER)


def told_bytes(lies: Iterable[Lie], pool: str, free_bytes: int) -> int:
    """What is told of the free capacity of a pool."""
    for lie in lies:
        if lie.pool in ("", pool):
            return int(free_bytes * lie.factor) + parse_bytes(str(lie.offset))
    return free_bytes


def _read_state(path: Path) -> _State:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_State)
    except (FileNotFoundError, msgspec.MsgspecError):
        return _State(script="", used={})


def _code(name: str) -> StatusCode:
    if name not in StatusCode.__members__:
        raise internal(
            f"{FILE_NAME}: {name} is no code; known are {', '.join(StatusCode.__members__)}"
        )
    return StatusCode[name]
