"""Content types: in which form a body came, and in which form the client wants its answer."""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import structs

from plimsoll.api.registry import Resource
from plimsoll.apiserver.http.answers import Answer
from plimsoll.apiserver.model import protobuf, yaml_text
from plimsoll.apiserver.model.custom.served_kind import CustomResource
from plimsoll.apiserver.model.json_text import check_size
from plimsoll.apiserver.model.printing.tables import Version
from plimsoll.apiserver.model.slices import decode_object
from plimsoll.apiserver.model.status import ApiError, bad_request
from plimsoll.wire.transport import Request

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
BODY_TYPES = (JSON, YAML, PROTOBUF)
TEXT_TYPES = (JSON, YAML)
META_GROUP = "meta.k8s.io"
REMEMBERED_LENGTH = 500
"""Of a header; longer ones are rare, and would take memory."""
_META_VERSIONS: dict[str, Version] = {"v1": "v1", "v1beta1": "v1beta1"}


class MediaForm(StrEnum):
    """What an answer is about: the object itself, or what is printed or known of it."""

    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


ALL_FORMS = frozenset({MediaForm.TABLE, MediaForm.METADATA, MediaForm.METADATA_LIST})


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedForm:
    media_type: str = JSON
    form: MediaForm = MediaForm.OBJECT
    version: Version = "v1"

    @property
    def is_metadata(self) -> bool:
        return self.form in (MediaForm.METADATA, MediaForm.METADATA_LIST)

    def check_object(self) -> None:
        """One object is no list. Raises 406."""
        if self.form is MediaForm.METADATA_LIST:
            raise not_acceptable(f"you requested {self.form}, but the answer is not a list")

    def check_list(self) -> None:
        """A list is not one object. Raises 406."""
        if self.form is MediaForm.METADATA:
            raise not_acceptable(f"you requested {self.form}, but the answer is a list")

    def check_watch(self) -> None:
        """A watch sends one object after the other, on a line or in a frame each. Raises 406."""
        self.check_object()
        if self.media_type == YAML:
            raise not_acceptable(
                "only the following media types are accepted: "
                f"{JSON};stream=watch, {PROTOBUF};stream=watch"
            )


@dataclass(frozen=True, slots=True)
class _Clause:
    media_type: str
    parameters: dict[str, str]
    quality: float


def _clauses(header: str) -> list[_Clause]:
    clauses = []
    for part in header.split(","):
        media_type, *settings = (piece.strip() for piece in part.split(";"))
        if not media_type:
            continue
        parameters = {
            name: value for name, _, value in (setting.partition("=") for setting in settings)
        }
        try:
            quality = float(parameters.pop("q", "1"))
        except ValueError:
            quality = 0.0
        clauses.append(_Clause(media_type.lower(), parameters, quality))
    return sorted(clauses, key=lambda clause: (-clause.quality, clause.media_type == "*/*"))


def not_acceptable(message: str = "", available: tuple[str, ...] = BODY_TYPES) -> ApiError:
    available_types = ", ".join(available)
    message = message or f"only the following media types are accepted: {available_types}"
    return ApiError(406, "NotAcceptable", message, {})


def wanted(
    request: Request,
    *,
    forms: frozenset[MediaForm] = ALL_FORMS,
    object_types: tuple[str, ...] = BODY_TYPES,
) -> AcceptedForm:
    """The best clause of the Accept header that can be served; 406 when there is none.

    Whether the answer has the form that the clause asks for is not known yet. `object_types` are
    those that whole objects can be written in.
    """
    header = request.headers.get("accept", "")
    choose = _chosen_before if len(header) <= REMEMBERED_LENGTH else _chosen
    choice = choose(header, forms, object_types)
    if choice is None:
        raise not_acceptable(available=object_types)
    return choice


def wanted_of(request: Request, resource: Resource) -> AcceptedForm:
    """The same for objects of the resource: custom kinds have no messages."""
    return wanted(request, object_types=object_types(resource))


def object_types(resource: Resource) -> tuple[str, ...]:
    """In which formats objects of the resource are read and written."""
    is_custom = isinstance(resource, CustomResource)
    has_message = not is_custom and protobuf.is_known(resource.api_version, resource.kind)
    return BODY_TYPES if has_message else TEXT_TYPES


def _chosen(
    header: str, forms: frozenset[MediaForm], object_types: tuple[str, ...]
) -> AcceptedForm | None:
    if not header:
        return AcceptedForm()
    choices = (_served(clause, forms, object_types) for clause in _clauses(header))
    return next((choice for choice in choices if choice is not None), None)


_chosen_before = lru_cache(maxsize=256)(_chosen)
"""Clients send the same few headers with every request."""


def refusal_type(request: Request) -> str:
    """In which format a Status is told: it has one form, and every client reads JSON."""
    try:
        return wanted(request, forms=frozenset()).media_type
    except ApiError:
        return JSON


def _served(
    clause: _Clause, forms: frozenset[MediaForm], object_types: tuple[str, ...]
) -> AcceptedForm | None:
    if clause.media_type not in (*BODY_TYPES, "*/*"):
        return None
    if clause.parameters.get("stream", "") not in ("", "watch"):
        return None
    media_type = JSON if clause.media_type == "*/*" else clause.media_type
    if clause.parameters.keys().isdisjoint(("as", "g", "v")):
        return AcceptedForm(media_type=media_type) if media_type in object_types else None
    form = clause.parameters.get("as", "")
    version = _META_VERSIONS.get(clause.parameters.get("v", ""))
    if clause.parameters.get("g") != META_GROUP or version is None or form not in forms:
        return None
    if form == MediaForm.TABLE and clause.media_type == PROTOBUF:
        return None
    return AcceptedForm(media_type=media_type, form=MediaForm(form), version=version)


def negotiated(answer: Answer, request: Request) -> Answer:
    """A Status or a review, which handlers write as JSON, in the format that the client wants.

    What was negotiated already, or has no message, stays as it is.
    """
    if not answer.is_document or "accept" not in request.headers:
        return answer
    media_type = refusal_type(request)
    if media_type == YAML:
        return structs.replace(answer, content_type=YAML, body=encode_yaml(answer.body))
    if media_type == PROTOBUF:
        return _in_protobuf(answer)
    return answer


def _in_protobuf(answer: Answer) -> Answer:
    document = msgspec.json.decode(answer.body)
    if not protobuf.is_known(document.get("apiVersion", ""), document.get("kind", "")):
        return answer
    return structs.replace(answer, content_type=PROTOBUF, body=protobuf.encode(document))


def unsupported(media_type: str, supported: tuple[str, ...] = BODY_TYPES) -> ApiError:
    listed = ", ".join(supported)
    message = (
        f"the body of the request was in an unknown format - accepted media types include: {listed}"
    )
    return ApiError(415, "UnsupportedMediaType", f"{message} (was {media_type!r})", {})


def body_type(request: Request) -> str:
    return _media_type(request.headers.get("content-type", ""))


@lru_cache(maxsize=64)
def _media_type(header: str) -> str:
    return header.partition(";")[0].strip().lower()


def decode_body(
    request: Request, types: tuple[str, ...] = BODY_TYPES, repeated: list[str] | None = None
) -> Any:
    """The body as JSON values; protobuf comes out in the form its JSON would have.

    What YAML says twice is added to `repeated`. Raises 415 for a format that is not among the
    types, and 400 for what cannot be read.
    """
    media_type = body_type(request) or JSON
    if media_type not in types:
        raise unsupported(media_type, types)
    match media_type:
        case "application/json":
            return decode_json(request.body)
        case "application/yaml":
            return decode_yaml(request.body, repeated)
        case _:
            try:
                return protobuf.decode(request.body)
            except ValueError as error:
                raise bad_request(f"the protobuf body cannot be read: {error}") from error


def decode_json(body: bytes) -> Any:
    try:
        check_size(body)
        return msgspec.json.decode(body)
    except (ValueError, UnicodeDecodeError) as error:
        raise bad_request(f"the body is not valid JSON: {error}") from error
    except RecursionError as error:
        raise bad_request("the body is nested too deeply") from error


def decode_applied(body: bytes, repeated: list[str] | None = None) -> Any:
    """YAML; most clients send what is JSON as well, which is much faster to read."""
    if body.lstrip().startswith(b"{"):
        try:
            check_size(body)
            return msgspec.json.decode(body)
        except (ValueError, RecursionError):
            pass
    return decode_yaml(body, repeated)


def decode_yaml(body: bytes, repeated: list[str] | None = None) -> Any:
    try:
        # Through JSON: what it has no form for, such as a number that is none, is refused here.
        return msgspec.json.decode(msgspec.json.encode(yaml_text.read(body, repeated)))
    except (TypeError, ValueError, RecursionError) as error:
        raise bad_request(f"the body is not valid YAML: {error}") from error


def encode_yaml(document: bytes) -> bytes:
    return yaml_text.write(decode_object(document))


def is_slow_format(media_type: str) -> bool:
    """YAML takes much longer to read and write than the other formats do."""
    return media_type in (YAML, "application/apply-patch+yaml")
