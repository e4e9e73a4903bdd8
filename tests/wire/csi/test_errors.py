"""One table says what a driver's codes mean."""

import pytest
from grpc import StatusCode

from plimsoll.wire.csi.errors import DriverFailure, driver_error

METHOD = "/csi.v1.Controller/CreateVolume"

# What csi-provisioner takes for "perhaps still in progress"; every other code ends an attempt.
NOT_FINAL = {
    StatusCode.CANCELLED,
    StatusCode.DEADLINE_EXCEEDED,
    StatusCode.UNAVAILABLE,
    StatusCode.ABORTED,
}
CREATED_NOTHING = {
    StatusCode.RESOURCE_EXHAUSTED,
    StatusCode.INVALID_ARGUMENT,
    StatusCode.OUT_OF_RANGE,
    StatusCode.PERMISSION_DENIED,
    StatusCode.UNAUTHENTICATED,
    StatusCode.UNIMPLEMENTED,
    StatusCode.NOT_FOUND,
    StatusCode.ALREADY_EXISTS,
    StatusCode.FAILED_PRECONDITION,
}
CODES = [code for code in StatusCode if code is not StatusCode.OK]


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_a_code_says_whether_the_driver_has_ended_and_whether_something_may_exist(
    code: StatusCode,
) -> None:
    error = driver_error(code, method=METHOD, detail="because")
    assert error.is_final == (code not in NOT_FINAL)
    assert error.is_certain == (code in CREATED_NOTHING)


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        (StatusCode.RESOURCE_EXHAUSTED, DriverFailure.OUT_OF_CAPACITY),
        (StatusCode.INVALID_ARGUMENT, DriverFailure.REJECTED),
        (StatusCode.ABORTED, DriverFailure.BUSY),
        (StatusCode.INTERNAL, DriverFailure.GAVE_UP),
        (StatusCode.UNAVAILABLE, DriverFailure.UNKNOWN_OUTCOME),
    ],
    ids=lambda value: value.name,
)
def test_a_code_becomes_a_failure(code: StatusCode, failure: DriverFailure) -> None:
    assert driver_error(code, method=METHOD, detail="because").failure is failure


def test_an_error_names_the_call_and_the_reason() -> None:
    error = driver_error(StatusCode.RESOURCE_EXHAUSTED, method=METHOD, detail="no room")
    assert str(error) == f"{METHOD}: OutOfCapacity: no room"
