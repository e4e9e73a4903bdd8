"""OpenAPI v2, as older clients ask for it: one document for all resources of the server.

Made from the v3 documents, of which it is another spelling. It is large: build it once, and not
where anything waits.
"""

from collections.abc import Iterable
from typing import Any

from plimsoll.api.registry import Document, Resource
from plimsoll.apiserver.model.openapi import document as openapi

_NEW, _OLD = "#/components/schemas/", "#/definitions/"
_ONLY_NEW = ("allOf", "anyOf", "oneOf", "not", "nullable")
"""What v2 cannot say of values, as far as schemas of custom kinds do."""
_FORMS = ["application/json", "application/yaml"]


def document(resources: Iterable[Resource]) -> Document:
    """`/openapi/v2`."""
    whole = openapi.whole_document(tuple(resources))
    return {
        "swagger": "2.0",
        "info": whole["info"],
        "paths": {path: _path(item) for path, item in whole["paths"].items()},
        "definitions": {
            name: _schema(schema) for name, schema in whole["components"]["schemas"].items()
        },
        "securityDefinitions": whole["components"]["securitySchemes"],
        "security": whole["security"],
    }


def _path(item: Document) -> Document:
    return {
        key: [_parameter(p) for p in value] if key == "parameters" else _operation(value)
        for key, value in item.items()
    }


def _operation(new: Document) -> Document:
    old = {
        key: value
        for key, value in new.items()
        if key not in ("parameters", "requestBody", "responses")
    }
    body = new.get("requestBody")
    parameters = [_parameter(parameter) for parameter in new["parameters"]]
    if body is not None:
        parameters.insert(0, _body_parameter(body))
        old["consumes"] = list(body["content"])
    responses = {code: _response(response) for code, response in new["responses"].items()}
    return old | {
        "produces": _FORMS,
        "schemes": ["https"],
        "parameters": parameters,
        "responses": responses,
    }


def _parameter(new: Document) -> Document:
    schema: Document = new["schema"]
    return {key: value for key, value in new.items() if key != "schema"} | schema


def _body_parameter(body: Document) -> Document:
    schemas = [content["schema"] for content in body["content"].values()]
    # A patch is a list in one of its forms, which v2 has no way to say.
    schema = _schema(schemas[0]) if len(schemas) == 1 else {"type": "object"}
    required = {"required": True} if body.get("required") else {}
    return {"name": "body", "in": "body", **required, "schema": schema}


def _response(new: Document) -> Document:
    [content] = new["content"].values()
    return {"description": new["description"], "schema": _schema(content["schema"])}


def _schema(new: Document) -> Document:
    """What v3 has to wrap so that it stands beside a reference stands there unwrapped in v2."""
    old = {key: _member(key, value) for key, value in new.items() if key not in _ONLY_NEW}
    for wrapped in new.get("allOf", ()):
        if "$ref" in wrapped:
            old |= _schema(wrapped)
    return old


def _member(key: str, value: Any) -> Any:
    if key == "$ref":
        return value.replace(_NEW, _OLD)
    if key == "properties":
        return {name: _schema(schema) for name, schema in value.items()}
    if key in ("items", "additionalProperties") and isinstance(value, dict):
        return _schema(value)
    return value
