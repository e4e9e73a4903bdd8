"""One public class name means one thing in the whole program."""

from tools.structure import ambiguous_classes

MOST_AMBIGUOUS = 0
"""A name that is needed twice says what it is: `SchedulerSettings`, not `Settings`."""


def test_hardly_a_public_class_name_means_two_things() -> None:
    found = ambiguous_classes()

    assert len(found) <= MOST_AMBIGUOUS, found
