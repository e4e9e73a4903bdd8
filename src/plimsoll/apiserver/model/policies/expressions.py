"""The expressions of policies: the names that they may use, and what they must evaluate to."""

from functools import cache

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.custom.cel.checking import Places
from plimsoll.apiserver.model.custom.cel.program import (
    CompilationError,
    Program,
    compiled_program,
)
from plimsoll.apiserver.model.custom.nodes import SchemaNode, compiled_schema
from plimsoll.apiserver.model.policies.result_types import result_type

BOOL, STRING, NULL = "bool", "string", "null_type"

_TEXT: Document = {"type": "string"}
_TEXTS: Document = {"type": "array", "items": _TEXT}
_TEXT_MAP: Document = {"type": "object", "additionalProperties": _TEXT}
_NUMBER: Document = {"type": "integer"}


def _object(**properties: Document) -> Document:
    return {"type": "object", "properties": properties}


_KIND = _object(group=_TEXT, version=_TEXT, kind=_TEXT)
_RESOURCE = _object(group=_TEXT, version=_TEXT, resource=_TEXT)
_USER = _object(
    username=_TEXT,
    uid=_TEXT,
    groups=_TEXTS,
    extra={"type": "object", "additionalProperties": _TEXTS},
)
_REQUEST = _object(
    kind=_KIND,
    resource=_RESOURCE,
    subResource=_TEXT,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    requestSubResource=_TEXT,
    name=_TEXT,
    namespace=_TEXT,
    operation=_TEXT,
    userInfo=_USER,
    dryRun={"type": "boolean"},
    options={},
)
_CONDITION = _object(status=_TEXT, type=_TEXT, lastTransitionTime={}, message=_TEXT, reason=_TEXT)
_NAMESPACE = _object(
    metadata=_object(
        name=_TEXT,
        generateName=_TEXT,
        namespace=_TEXT,
        labels=_TEXT_MAP,
        annotations=_TEXT_MAP,
        UID=_TEXT,
        creationTimestamp={},
        deletionGracePeriodSeconds=_NUMBER,
        deletionTimestamp={},
        generation=_NUMBER,
        resourceVersion=_TEXT,
        finalizers=_TEXTS,
    ),
    spec=_object(finalizers=_TEXTS),
    status=_object(conditions={"type": "array", "items": _CONDITION}, phase=_TEXT),
)
NAMESPACE_METADATA = tuple(_NAMESPACE["properties"]["metadata"]["properties"])
"""What an expression sees of a namespace's metadata."""
_AUTHORIZER = _object(requestResource={})


@cache
def _node(name: str) -> SchemaNode:
    shapes = {"request": _REQUEST, "namespaceObject": _NAMESPACE, "authorizer": _AUTHORIZER}
    return compiled_schema(shapes[name])


def places(
    *, has_params: bool, has_authorizer: bool = True, variables: dict[str, str | None] | None = None
) -> Places:
    """What the names of an expression stand for; `variables` are those above it, by type."""
    found: Places = {
        "object": None,
        "oldObject": None,
        "request": _node("request"),
        "namespaceObject": _node("namespaceObject"),
    }
    if has_params:
        found["params"] = None
    if has_authorizer:
        found["authorizer"] = _node("authorizer")
    if variables is not None:
        properties = {name: SchemaNode(raw=_shape(kind)) for name, kind in variables.items()}
        found["variables"] = SchemaNode(
            raw={"type": "object"}, types=("object",), properties=properties
        )
    return found


def _shape(kind: str | None) -> Document:
    """Only its type is known of a variable: what is below it may be anything."""
    return {"x-type": kind} if kind else {}


def compiled_expression(text: str, names: Places, *wanted: str) -> tuple[Program, str | None]:
    """The program, and the type of its value where it is known. Raises CompilationError.

    `wanted` are the types that the value may have; none: any.
    """
    try:
        program = compiled_program(text, names, wants_truth=False)
    except CompilationError as error:
        raise CompilationError(f"compilation failed: {error}") from None
    kind = result_type(program.tree, names)
    if wanted and kind is not None and kind not in wanted:
        one = wanted[0] if len(wanted) == 1 else f"one of [{' '.join(wanted)}]"
        raise CompilationError(f"must evaluate to {one} but got {kind}")
    return program, kind
