"""Tokens are what this server signed, or nothing."""

import base64

import msgspec
import pytest
from hypothesis import given, strategies as st

from plimsoll.apiserver.access.tokens.jwt import (
    InvalidTokenError,
    new_key,
    sign,
    verified_claims,
)

KEY = new_key()
CLAIMS = {"sub": "robot", "exp": 1}
TOKEN = sign(CLAIMS, KEY)


def part(document: object) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(document)).rstrip(b"=").decode()


def test_what_is_signed_can_be_read_again() -> None:
    assert verified_claims(TOKEN, KEY) == CLAIMS
    assert KEY.public_document["kid"] == KEY.identifier
    assert set(KEY.public_document) == {"use", "kty", "kid", "crv", "alg", "x", "y"}


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("", id="empty"),
        pytest.param("a.b", id="two-parts"),
        pytest.param(TOKEN + ".x", id="four-parts"),
        pytest.param(sign(CLAIMS, new_key()), id="another-key"),
        pytest.param(f"{part({'alg': 'none'})}.{part(CLAIMS)}.", id="no-algorithm"),
        pytest.param(f"{part({'alg': 'HS256'})}.{part(CLAIMS)}.{TOKEN[-86:]}", id="shared-secret"),
        pytest.param(f"{part([])}.{part(CLAIMS)}.{TOKEN[-86:]}", id="head-is-a-list"),
        pytest.param(f"{TOKEN.split('.')[0]}.{part({'sub': 'admin'})}.{TOKEN[-86:]}", id="forged"),
        pytest.param(TOKEN[:-2], id="short-signature"),
        pytest.param(TOKEN.replace(".", ".\n", 1), id="line-break"),
    ],
)
def test_anything_else_is_refused(token: str) -> None:
    with pytest.raises(InvalidTokenError):
        verified_claims(token, KEY)


@given(position=st.integers(0, len(TOKEN) - 1), mark=st.sampled_from("aB3-_.= \x00ä"))
def test_a_token_with_one_other_character_is_refused(position: int, mark: str) -> None:
    changed = TOKEN[:position] + mark + TOKEN[position + 1 :]
    # The last character of the signature has bits that mean nothing.
    if changed != TOKEN and position < len(TOKEN) - 1:
        with pytest.raises(InvalidTokenError):
            verified_claims(changed, KEY)
