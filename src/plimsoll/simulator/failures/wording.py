"""How a line of a trace is put for people: requests by kind and name, and names that stay short."""

import re

REQUEST = re.compile(r"^(GET|POST|PUT|PATCH|DELETE) (/\S+)( -> .*)$")
WRITE_MADE = re.compile(r"^\[info\] write made write=\w+ [\w./]+=(\S*)$")
UUIDS = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
HASHES = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{24,}\b")
WIDEST = 180
GROUP_PARTS = {"api": 2, "apis": 3}
"""Of a path, how many come before what it is about."""


def is_request(what: str) -> bool:
    return REQUEST.match(what) is not None


def written_object(what: str) -> str:
    """The object that a log line says was written; empty: it says no such thing."""
    found = WRITE_MADE.match(what)
    return found[1] if found is not None else ""


def with_name_of(request: str, name: str) -> str:
    """A request that creates has no name in its path: with the one that it got."""
    found, short = REQUEST.match(request), name.rpartition("/")[2]
    if found is None or found[1] != "POST" or not short:
        return request
    return f"POST {found[2]}/{short}{found[3]}"


def reworded(what: str) -> str:
    """`PATCH pods/status default/web-0 -> 200`; of a uid, the beginning."""
    found = REQUEST.match(what)
    plain = what if found is None else f"{found[1]} {_short(found[2])}{found[3]}"
    short = HASHES.sub(r"\1…", UUIDS.sub(r"\1…", plain))
    return short if len(short) <= WIDEST else f"{short[: WIDEST - 1]}…"


def _short(path: str) -> str:
    first, *rest = path.strip("/").split("/")
    parts = rest[GROUP_PARTS.get(first, 1) - 1 :]
    namespace = ""
    if parts[:1] == ["namespaces"] and len(parts) > 2:  # noqa: PLR2004 - in a namespace
        namespace, parts = f"{parts[1]}/", parts[2:]
    kind, name, below = [*parts, "", "", ""][:3]
    about = f"{kind}/{below}" if below else kind
    return f"{about} {namespace}{name}".rstrip("/ ")
