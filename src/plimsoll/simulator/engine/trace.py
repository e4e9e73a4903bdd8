"""What happened, in order: the same bytes for the same seed.

Every line has its moment, the process and what it saw or did. The digest covers all of them, so
that two runs can be compared without keeping their lines.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any


@dataclass(slots=True)
class Trace:
    time: Callable[[], float]
    keeps_lines: bool = False
    lines: list[str] = field(default_factory=list)
    length: int = 0
    _digest: Any = field(default_factory=lambda: blake2b(digest_size=16))

    def add(self, process: str, what: str) -> None:
        line = f"{self.time():12.6f} {process}: {what}"
        self._digest.update(line.encode())
        self.length += 1
        if self.keeps_lines:
            self.lines.append(line)

    def note(self, process: str, what: str) -> None:
        """For readers alone: not part of the digest."""
        if self.keeps_lines:
            self.lines.append(f"{self.time():12.6f} {process}: {what}")

    @property
    def digest(self) -> str:
        return str(self._digest.hexdigest())
