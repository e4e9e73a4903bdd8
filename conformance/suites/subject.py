"""What Kubernetes' own tests are run against."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from conformance.suites.overlay import Shim

LeftOut = Mapping[str, str]
"""Patterns of tests that are not run, with the reason."""


class Programs(Enum):
    """How suites are compiled."""

    ONE_EACH = auto()
    """As Go does it; the tests begin with etcd."""
    ONE_FOR_ALL = auto()
    """Linking takes longest, and is done once. Nothing begins before the tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    name: str
    shim: Shim
    suites: Mapping[str, LeftOut]
    programs: Programs
