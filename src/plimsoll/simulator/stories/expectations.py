"""What a story takes for granted: where it does not hold, the story ends."""


class BrokenExpectationError(AssertionError):
    """The program did what no story may see; the message says what."""


def expect(said: str, *, holds: bool) -> None:
    if not holds:
        raise BrokenExpectationError(said)
