import pytest
from grpc import StatusCode

from plimsoll.processes.driver.node.node_context import failures_told
from plimsoll.runtime.commands import CommandError
from plimsoll.wire.csi.errors import CsiStatusError


@pytest.mark.parametrize(
    ("failure", "code", "told"),
    [
        pytest.param(
            CommandError("mkfs.ext4", code=None, stderr="", timed_out=True),
            StatusCode.UNAVAILABLE,
            "volume v: mkfs.ext4: took too long and was killed; what it is stored on does not",
            id="command-that-hangs",
        ),
        pytest.param(
            TimeoutError(),
            StatusCode.UNAVAILABLE,
            "volume v: what it is stored on does not answer in time",
            id="path-that-does-not-answer",
        ),
        pytest.param(
            CommandError("mkfs.ext4", code=1, stderr="no such device"),
            StatusCode.INTERNAL,
            "volume v: mkfs.ext4: failed with code 1: no such device",
            id="command-that-fails",
        ),
        pytest.param(
            FileNotFoundError(2, "No such file", "/target"),
            StatusCode.INTERNAL,
            "volume v: /target: No such file",
            id="path-that-is-not-there",
        ),
    ],
)
def test_what_goes_wrong_on_the_node_is_told_by_the_volume(
    failure: Exception, code: StatusCode, told: str
) -> None:
    with pytest.raises(CsiStatusError, match=told) as refusal, failures_told("v"):
        raise failure
    assert refusal.value.code is code
