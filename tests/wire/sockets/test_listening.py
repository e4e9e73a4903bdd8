import errno

import pytest

from plimsoll.wire.sockets.listening import ListenError, listening_told


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        pytest.param(errno.EADDRINUSE, "another program listens there", id="taken"),
        pytest.param(errno.EACCES, "Permission denied", id="for root alone"),
    ],
)
def test_an_address_that_cannot_be_listened_on_is_told_with_the_remedy(
    number: int, reason: str
) -> None:
    with pytest.raises(ListenError) as told, listening_told("the API", "127.0.0.1", 443):
        raise OSError(number, "Permission denied")
    assert str(told.value) == (
        f"the API cannot be served on 127.0.0.1:443: {reason}; choose another port, or 0 for a free"
        " one"
    )
