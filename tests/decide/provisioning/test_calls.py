import grpc

from plimsoll.decide.provisioning.calls import CallFailed, Code


def test_every_code_of_grpc_but_success_is_known_by_its_name() -> None:
    assert {code.name for code in grpc.StatusCode} - {"OK"} == {code.name for code in Code}


def test_only_some_codes_leave_open_what_the_driver_does() -> None:
    assert {code for code in Code if code.may_still_be_running} == {
        Code.CANCELLED,
        Code.DEADLINE_EXCEEDED,
        Code.UNAVAILABLE,
        Code.ABORTED,
    }


def test_a_failed_call_reads_as_users_know_it_from_events() -> None:
    failed = CallFailed(Code.RESOURCE_EXHAUSTED, "pool is full")

    assert str(failed) == "rpc error: code = ResourceExhausted desc = pool is full"
