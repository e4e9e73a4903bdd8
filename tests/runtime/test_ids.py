from uuid import UUID

from plimsoll.runtime.ids import SUFFIX_ALPHABET, seeded_ids, system_ids


def test_the_same_seed_gives_the_same_ids() -> None:
    one, other = seeded_ids(7), seeded_ids(7)
    assert [one.uid(), one.suffix(), one.uid()] == [other.uid(), other.suffix(), other.uid()]


def test_a_uid_is_a_random_uuid() -> None:
    ids = system_ids()
    first, second = UUID(ids.uid()), UUID(ids.uid())
    assert first.version == 4
    assert first != second


def test_a_suffix_is_made_of_letters_that_spell_no_words() -> None:
    suffix = seeded_ids(1).suffix(200)
    assert len(suffix) == 200
    assert set(suffix) <= set(SUFFIX_ALPHABET)
    assert not set("aeiou013") & set(SUFFIX_ALPHABET)
