"""Chance and durations of a simulation, all of them from one seed."""

from datetime import timedelta
from random import Random


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - chance of a simulation


def derived(chance: Random) -> Random:
    """A source of its own: what draws from it does not disturb the others."""
    return Random(chance.getrandbits(64))  # noqa: S311 - chance of a simulation


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)
