"""Objects and requests from the recorded conversations, ready to be read as their kinds."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from plimsoll.api.registry import Document, resources_by_path
from plimsoll.apiserver.model.schema import schema_name

CORPUS = Path(__file__).parents[1] / "oracle" / "api-conversations.jsonl.gz"

# What stands for a value that differs from run to run.
PLACEHOLDERS = {
    "<time>": "2026-11-15T21:15:17Z",
    "<microtime>": "2026-11-15T21:15:17.000001Z",
    "{{created:": "2026-11-15T21:15:17Z",
    "{{ns}}": "qbbbbbbbbz",
}


@dataclass(frozen=True)
class Recorded:
    """A document that was sent or answered, and what the server said to it."""

    conversation: str
    schema: str
    document: Any
    status: int
    message: str = ""
    warnings: tuple[str, ...] = ()
    raw: bytes = b""


@cache
def answered_objects() -> tuple[Recorded, ...]:
    """Every object in a successful answer or watch event, alone or in a list."""
    return tuple(
        Recorded(conversation["id"], schema, document, 200)
        for conversation, step in _steps()
        if not step.get("shape")
        for answer in _answers(step["expect"])
        for schema, document in _objects(answer)
    )


@cache
def sent_objects() -> tuple[Recorded, ...]:
    """Every whole JSON body of a POST or PUT, with the answer it got."""
    return tuple(
        Recorded(
            conversation["id"],
            schema,
            *_body_and_status(step),
            message=_message(step["expect"]),
            warnings=tuple(w for w in step["expect"].get("warnings", ()) if 'field "' in w),
            raw=step["request"].get("rawBody", "").encode(),
        )
        for conversation, step in _steps()
        if (schema := _sent_schema(step)) and _is_json(step["request"])
    )


def _steps() -> Iterator[tuple[Document, Document]]:
    with gzip.open(CORPUS) as lines:
        for line in lines:
            conversation = json.loads(line)
            for step in conversation["steps"]:
                yield conversation, step


def _answers(expect: Document) -> Iterator[Any]:
    if expect.get("status", 0) < 300:
        yield expect.get("body")
    yield from (e["object"] for e in expect.get("events") or () if e["type"] != "ERROR")


def _objects(answer: Any) -> Iterator[tuple[str, Document]]:
    if not isinstance(answer, dict) or not answer.get("apiVersion"):
        return
    api_version, kind = answer["apiVersion"], answer["kind"]
    items = [answer]
    if kind.endswith("List") and "items" in answer:
        kind = kind.removesuffix("List")
        items = [
            {"kind": kind, "apiVersion": api_version, **item} for item in answer["items"] or ()
        ]
    group, _, version = api_version.rpartition("/")
    try:
        schema = schema_name(group, version, kind)
    except KeyError:
        return  # custom resources and tables have no schema here
    for item in items:
        yield schema, _filled(item)


def _filled(value: Any) -> Any:
    if isinstance(value, dict):
        return {_filled(key): _filled(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner) for inner in value]
    if isinstance(value, str):
        return next((v for k, v in PLACEHOLDERS.items() if value.startswith(k)), value)
    return value


def _is_json(request: Document) -> bool:
    content_type = (request.get("headers") or {}).get("Content-Type", "application/json")
    if content_type != "application/json" or not {"body", "rawBody"} & set(request):
        return False
    try:
        json.loads(request.get("rawBody", "{}"))
    except ValueError:
        return False
    return True


def _sent_schema(step: Document) -> str | None:
    request = step.get("request") or {}
    if request.get("method") not in ("POST", "PUT"):
        return None
    parts = request["path"].partition("?")[0].strip("/").split("/")
    group, version, rest = (
        ("", parts[1], parts[2:]) if parts[0] == "api" and len(parts) > 2 else ("", "", [])
    )
    if parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    if len(rest) > 2 and rest[0] == "namespaces":
        rest = rest[2:]
    resource = resources_by_path().get((group, version, rest[0])) if rest else None
    return schema_name(group, version, resource.kind) if resource and len(rest) < 3 else None


def _body_and_status(step: Document) -> tuple[Any, int]:
    request = step["request"]
    body = json.loads(request["rawBody"]) if "rawBody" in request else request["body"]
    return _filled(body), step["expect"]["status"]


def _message(expect: Document) -> str:
    body = expect.get("body")
    return str(body.get("message", "")) if isinstance(body, dict) else ""
