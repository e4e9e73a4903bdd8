"""Takes secrets out of what drivers say: they may repeat what they were given, and their messages
reach events and logs."""

from collections.abc import Mapping

HIDDEN = "***"


def without_secrets(text: str, secrets: Mapping[str, str]) -> str:
    """The text without any of the values; longer ones first, since one may contain another."""
    for value in sorted(filter(None, secrets.values()), key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return text
