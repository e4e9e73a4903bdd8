from datetime import timedelta

import msgspec
import pytest

from plimsoll.wire.errors import Failure, error_from_response, error_from_status


@pytest.mark.parametrize(
    ("code", "reason", "headers", "failure"),
    [
        (404, "NotFound", {}, Failure.NOT_FOUND),
        (409, "AlreadyExists", {}, Failure.ALREADY_EXISTS),
        (409, "Conflict", {}, Failure.CONFLICT),
        (422, "Invalid", {}, Failure.INVALID),
        (403, "Forbidden", {}, Failure.FORBIDDEN),
        (401, "Unauthorized", {}, Failure.UNAUTHORIZED),
        (410, "Expired", {}, Failure.GONE),
        (410, "Gone", {}, Failure.GONE),
        (429, "TooManyRequests", {}, Failure.TOO_MANY_REQUESTS),
        (400, "BadRequest", {}, Failure.BAD_REQUEST),
        (405, "MethodNotAllowed", {}, Failure.BAD_REQUEST),
        (418, "", {}, Failure.BAD_REQUEST),
        (504, "Timeout", {}, Failure.TIMEOUT),
        (500, "ServerTimeout", {}, Failure.TIMEOUT),
        (500, "InternalError", {}, Failure.UNKNOWN_OUTCOME),
        (503, "ServiceUnavailable", {"retry-after": "1"}, Failure.UNAVAILABLE),
        (503, "ServiceUnavailable", {}, Failure.UNKNOWN_OUTCOME),
    ],
)
def test_an_answer_says_what_may_happen_next(
    code: int, reason: str, headers: dict[str, str], failure: Failure
) -> None:
    body = msgspec.json.encode(
        {"kind": "Status", "code": code, "reason": reason, "message": "no such thing"}
    )
    error = error_from_response(code, headers, body, operation="GET /x")
    assert error.failure is failure
    assert error.code == code
    assert str(error) == "GET /x: no such thing"


@pytest.mark.parametrize(
    ("failure_code", "certain"), [(404, True), (409, True), (429, True), (500, False), (504, False)]
)
def test_only_some_failures_prove_that_nothing_was_written(
    failure_code: int, *, certain: bool
) -> None:
    error = error_from_response(failure_code, {}, b"", operation="PUT /x")
    assert error.is_certain is certain


def test_an_answer_of_a_proxy_is_understood_by_its_code() -> None:
    error = error_from_response(502, {}, b"<html>bad gateway</html>", operation="GET /x")
    assert error.failure is Failure.UNKNOWN_OUTCOME
    assert "bad gateway" in str(error)


@pytest.mark.parametrize(
    ("headers", "details", "seconds"),
    [
        ({"retry-after": "7"}, {}, 7),
        ({}, {"retryAfterSeconds": 3}, 3),
        ({"retry-after": "7"}, {"retryAfterSeconds": 3}, 7),
        ({"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT"}, {}, None),
    ],
)
def test_the_time_to_come_back_is_found_in_headers_and_document(
    headers: dict[str, str], details: dict[str, int], seconds: int | None
) -> None:
    body = msgspec.json.encode({"kind": "Status", "code": 429, "details": details})
    error = error_from_response(429, headers, body, operation="")
    expected = None if seconds is None else timedelta(seconds=seconds)
    assert error.retry_after == expected


def test_causes_are_carried_along() -> None:
    status = {"code": 422, "reason": "Invalid", "details": {"causes": [{"field": "spec.x"}]}}
    assert error_from_status(status, operation="").causes == [{"field": "spec.x"}]
