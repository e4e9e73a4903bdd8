import pytest
from grpc import StatusCode

from plimsoll.wire.ceph.errors import (
    REFUSALS,
    TEXTS,
    CephError,
    CephFailure,
    ceph_error,
    refusal,
)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(122, StatusCode.RESOURCE_EXHAUSTED, id="quota"),
        pytest.param(28, StatusCode.RESOURCE_EXHAUSTED, id="full"),
        pytest.param(-110, StatusCode.UNAVAILABLE, id="no-answer"),
        pytest.param(13, StatusCode.INTERNAL, id="wrong-key"),
        pytest.param(2, StatusCode.NOT_FOUND, id="absent"),
        pytest.param(16, StatusCode.FAILED_PRECONDITION, id="watched"),
        pytest.param(5, StatusCode.INTERNAL, id="anything-else"),
    ],
)
def test_a_number_becomes_a_code(number: int, code: StatusCode) -> None:
    assert refusal(ceph_error(number, "pool a"), "volume v").code is code


def test_a_refusal_names_volume_pool_and_remedy() -> None:
    told = refusal(ceph_error(110, "pool a"), "volume v").detail
    assert told == "volume v: pool a did not answer in time; look at `ceph health`"


def test_an_unknown_number_is_told() -> None:
    assert str(ceph_error(-5, "pool a")) == "pool a reports an error (errno 5)"


def test_every_failure_has_a_text_and_a_code() -> None:
    assert TEXTS.keys() == REFUSALS.keys() == set(CephFailure)
    assert CephError(CephFailure.FENCED, "pool a").failure is CephFailure.FENCED


def test_an_error_that_is_told_again_says_the_same_and_keeps_no_frames() -> None:
    error = CephError(CephFailure.TIMED_OUT, "pool p", "no answer")
    with pytest.raises(CephError):
        raise error
    again = error.again()
    assert (str(again), again.failure) == (str(error), CephFailure.TIMED_OUT)
    assert again.__traceback__ is None
