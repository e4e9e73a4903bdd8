"""Which pools would not survive the loss of a domain, so that taking it over helps no volume."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolCopies:
    """How a pool keeps its data."""

    pool: str
    size: int
    """Copies of every object."""
    min_size: int
    """Without so many, nothing can be read or written."""
    inside: int
    """Copies in the domain."""


def find_objection(copies: PoolCopies) -> str | None:
    """A sentence; None: the pool goes on without the domain."""
    outside = copies.size - copies.inside
    if outside <= 0:
        number = "its only copy" if copies.size == 1 else f"all {copies.size} copies"
        return f"Pool {copies.pool} cannot be taken over: {number} would be lost with the domain."
    if outside < copies.min_size:
        return (
            f"Pool {copies.pool} cannot be taken over: {outside} of {copies.size} copies are "
            f"outside of the domain, and it needs {copies.min_size} to go on."
        )
    return None
