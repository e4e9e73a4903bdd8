"""Identity as an argument: uids and the random endings of generated names."""

import secrets
import socket
from random import Random, SystemRandom
from typing import Protocol
from uuid import UUID

# No vowels and nothing that looks like another letter: a generated name should not spell a word.
SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


class Ids(Protocol):
    def uid(self) -> str:
        """A fresh UUID, as in `metadata.uid`."""
        ...

    def suffix(self, length: int = 5) -> str:
        """What `generateName` appends."""
        ...


class RandomIds:
    """Ids from a source of chance: reproducible when the source is seeded."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def uid(self) -> str:
        return str(UUID(int=self._chance.getrandbits(128), version=4))

    def suffix(self, length: int = 5) -> str:
        return "".join(self._chance.choices(SUFFIX_ALPHABET, k=length))


def system_ids() -> Ids:
    """Ids that cannot be guessed and do not repeat."""
    return RandomIds(SystemRandom())


def system_chance() -> Random:
    """Chance for jitter: fast, and different in every process."""
    return Random(secrets.randbits(64))


def seeded_ids(seed: int) -> Ids:
    return RandomIds(Random(seed))


def hostname() -> str:
    """The machine's name, for identities that people read."""
    return socket.gethostname()
