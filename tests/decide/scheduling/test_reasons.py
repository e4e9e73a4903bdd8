from plimsoll.decide.scheduling.reasons import (
    FIT,
    NOT_CONCERNED,
    Finding,
    Reason,
    Sentence,
    Verdict,
    unresolvable,
    unschedulable,
)


def test_reasons_that_share_a_sentence_say_it_once() -> None:
    judgement = unresolvable(
        Finding(reason=Reason.CAPACITY_ZERO, sentence=Sentence.NO_SPACE),
        Finding(reason=Reason.CAPACITY_TOO_SMALL, sentence=Sentence.NO_SPACE),
        Finding(reason=Reason.NO_MATCHING_VOLUME, sentence=Sentence.NO_VOLUME),
    )
    assert judgement.sentences == (
        "node(s) did not have enough free storage",
        "node(s) didn't find available persistent volumes to bind",
    )


def test_a_rule_without_an_opinion_does_not_stand_in_the_way() -> None:
    assert FIT.is_fit
    assert NOT_CONCERNED.is_fit
    assert not unschedulable().is_fit
    assert unschedulable().verdict is Verdict.UNSCHEDULABLE


def test_reasons_are_written_in_camel_case_and_never_twice() -> None:
    values = [reason.value for reason in Reason]
    assert len(set(values)) == len(values)
    assert all(value[0].isupper() and value.isalnum() for value in values)
