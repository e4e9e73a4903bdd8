"""A patch is refused with the code that tells whose fault it is."""

import pytest

from plimsoll.api.patch.errors import PatchError, inapplicable, malformed, too_large


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (malformed("no"), 400, "BadRequest"),
        (inapplicable("no"), 422, "Invalid"),
        (too_large("no"), 413, "RequestEntityTooLarge"),
    ],
    ids=["no-patch", "does-not-fit", "too-large"],
)
def test_a_refusal_carries_what_the_client_sees(error: PatchError, code: int, reason: str) -> None:
    assert (error.code, error.reason, error.message, str(error)) == (code, reason, "no", "no")
