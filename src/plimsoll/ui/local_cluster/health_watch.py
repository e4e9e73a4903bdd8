"""Notices a process that is alive and does not answer.

A busy machine is no reason to restart anything: a process has to miss several probes in a row, each
with seconds to answer in. Any answer will do, also one that says that the process is not ready.
"""

import ssl
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from plimsoll.runtime.clock import Clock
from plimsoll.wire.probe import is_answered


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRule:
    """With the defaults, a process is silent after 40 seconds without any answer."""

    every: timedelta = timedelta(seconds=5)
    limit: timedelta = timedelta(seconds=10)
    """How long a process may take for one answer."""
    misses: int = 3
    """So many in a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthPage:
    url: str
    authority: Path | None = None
    """Whose certificate the process shows; None for plain HTTP."""


async def until_silent(page: HealthPage, rule: HealthRule, clock: Clock) -> None:
    """Return when the process missed too many probes."""
    trust = ssl.create_default_context(cafile=page.authority) if page.authority else None
    missed = 0
    while missed < rule.misses:
        await clock.sleep(rule.every)
        missed = 0 if await is_answered(page.url, rule.limit, trust) else missed + 1
