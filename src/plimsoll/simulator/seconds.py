"""Durations from numbers, which chance and files give."""

from datetime import timedelta


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)
