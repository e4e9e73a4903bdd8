"""Every verb has exactly one handler."""

import pytest

from plimsoll.apiserver.verbs.dispatch import READS, SUBRESOURCE_READS, SUBRESOURCE_WRITES, WRITES
from plimsoll.apiserver.verbs.verb import Verb


@pytest.mark.parametrize("verb", Verb)
def test_a_verb_has_one_handler(verb: Verb) -> None:
    # Only deletecollection waits between its changes; it is not a handler of either table.
    assert [verb in READS, verb in WRITES].count(True) == (verb is not Verb.DELETE_COLLECTION)


def test_handlers_of_subresources_are_of_verbs_that_have_handlers() -> None:
    assert {verb for verb, _ in SUBRESOURCE_READS} <= READS.keys()
    assert {verb for verb, _ in SUBRESOURCE_WRITES} <= WRITES.keys()
