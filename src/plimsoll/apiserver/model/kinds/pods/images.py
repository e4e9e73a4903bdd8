"""When an image is pulled again: the default depends on whether its name pins a version."""

import re

PULL_POLICIES = ("Always", "IfNotPresent", "Never")

_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_DOMAIN = rf"(?:{_HOST}(?:\.{_HOST})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_ALGORITHM = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*"
IMAGE = re.compile(
    rf"(?:{_DOMAIN}/)?{_PART}(?:/{_PART})*"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?"
    rf"(?P<digest>@{_ALGORITHM}:[0-9a-fA-F]{{32,}})?",
    re.ASCII,
)


def default_pull_policy(image: str) -> str:
    """`Always` for what may change under the same name; unreadable names are left alone."""
    name = IMAGE.fullmatch(image)
    if name is None:
        return "IfNotPresent"
    floating = name["tag"] == "latest" or (name["tag"] is None and name["digest"] is None)
    return "Always" if floating else "IfNotPresent"
