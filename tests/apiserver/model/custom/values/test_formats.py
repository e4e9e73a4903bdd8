import pytest

from plimsoll.apiserver.model.custom.values import formats


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", "2026-02-28", "2026-02-30"),
        ("date-time", "2026-02-28T10:00:00Z", "2026-02-28 10:00"),
        ("duration", "1h30m", "soon"),
        ("byte", "aGk=", "a"),
        ("cidr", "10.0.0.0/8", "10.0.0.0"),
        ("ipv4", "10.0.0.1", "::1"),
        ("ipv6", "::1", "10.0.0.1"),
        ("mac", "00:00:5e:00:53:01", "00:00"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
        ("uuid4", "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        ("uri", "https://example.com/a?b", "not a uri"),
        ("email", "a@example.com", "a@"),
        ("hostname", "a-b.example.com", "-a"),
        ("isbn10", "0321751043", "0321751044"),
        ("isbn13", "978-0321751041", "978-0321751042"),
        ("creditcard", "4111 1111 1111 1111", "4111"),
        ("hexcolor", "#ffffff", "#ff"),
        ("ssn", "123-45-6789", "123"),
        ("k8s-short-name", "web-0", "Web"),
        ("k8s-long-name", "a.b-c", "a..b"),
    ],
)
def test_a_format_tells_texts_apart(name: str, good: str, bad: str) -> None:
    assert formats.is_valid(name, good)
    assert not formats.is_valid(name, bad)


def test_an_unknown_format_accepts_everything() -> None:
    assert formats.is_valid("made-up", "x")
    assert not formats.is_known("made-up")
    assert formats.is_known("date-time")
