"""POST of a TokenRequest below a service account: a token for it, which nothing stores."""

from dataclasses import dataclass
from datetime import timedelta

from plimsoll.api.registry import Document, Resource, resources_by_path
from plimsoll.apiserver.access.tokens.account_tokens import AUDIENCES
from plimsoll.apiserver.access.tokens.claims import (
    EXTENDED_SECONDS,
    PROJECTED_SECONDS,
    BoundObject,
    TokenClaims,
)
from plimsoll.apiserver.admission.attributes import Operation
from plimsoll.apiserver.http.answers import json_answer
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.status import ApiError, bad_request, invalid, not_found
from plimsoll.apiserver.storage.cluster import timestamp
from plimsoll.apiserver.storage.resource_kinds import kind_of, token_request_kind
from plimsoll.apiserver.verbs.write import Write, check_namespace, newest
from plimsoll.apiserver.verbs.write_request import AnswerWhenDurable, WriteRequest

GROUP, KIND = "authentication.k8s.io", "TokenRequest"
DEFAULT_SECONDS = 3600
SHORTEST = 600
LONGEST = 1 << 32
AUDIENCE_CHARACTERS = 4096
BOUND_TO = {"Pod": "pods", "Node": "nodes", "Secret": "secrets"}


def answer_create_token(request: WriteRequest) -> AnswerWhenDurable:
    write = request.write("CreateOptions")
    document = request.body(write.options, token_request_kind())
    answer = create_token(write, document)
    return lambda: json_answer(answer, 201, warnings=write.options.warnings)


def create_token(write: Write, document: Document) -> Document:
    """The request with its token. Raises ApiError."""
    _check_place(write, document["metadata"])
    # A kubelet is told what it may not ask for, whether the account is there or not.
    attributes = write.attributes(Operation.CREATE, document, None)
    write.cluster.admission.admit(attributes)
    account = newest(write).document()["metadata"]
    _check_uid(write, document["metadata"], account["uid"])
    write.cluster.admission.check(attributes)
    spec = document.get("spec") or {}
    seconds = spec.get("expirationSeconds") or DEFAULT_SECONDS
    _refuse([*_seconds_errors(seconds), *_size_errors(spec)])
    audiences = tuple(spec.get("audiences") or AUDIENCES)
    bound = _find_bound(write, spec.get("boundObjectRef"))
    wanted = _Wanted(audiences=audiences, seconds=seconds, bound=bound)
    token = write.cluster.authenticator.tokens.issue(_claims(write, account, wanted))
    now = write.now
    meta = {"name": account["name"], "namespace": account["namespace"], "uid": account["uid"]}
    return {
        "kind": KIND,
        "apiVersion": f"{GROUP}/v1",
        "metadata": meta | {"creationTimestamp": timestamp(now)},
        "spec": {
            "audiences": list(audiences),
            "expirationSeconds": seconds,
            "boundObjectRef": spec.get("boundObjectRef"),
        },
        "status": {
            "token": token,
            "expirationTimestamp": timestamp(now + timedelta(seconds=seconds)),
        },
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bound:
    reference: BoundObject
    node: BoundObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    audiences: tuple[str, ...]
    seconds: int
    bound: _Bound | None

    @property
    def is_extended(self) -> bool:
        """Tokens that pods get by default outlive an hour, for programs that read them once."""
        return (
            self.bound is not None
            and self.bound.reference.kind == "Pod"
            and self.seconds == PROJECTED_SECONDS
            and set(self.audiences) <= set(AUDIENCES)
        )


def _claims(write: Write, account: Document, wanted: _Wanted) -> TokenClaims:
    now = int(write.now.timestamp())
    lasting = EXTENDED_SECONDS if wanted.is_extended else wanted.seconds
    return TokenClaims(
        namespace=account["namespace"],
        account=account["name"],
        account_uid=account["uid"],
        audiences=wanted.audiences,
        issued_at=now,
        not_before=now,
        expires_at=now + lasting,
        warn_after=now + wanted.seconds if wanted.is_extended else None,
        identifier=write.cluster.ids.uid(),
        bound=wanted.bound.reference if wanted.bound else None,
        node=wanted.bound.node if wanted.bound else None,
    )


def _find_bound(write: Write, reference: Document | None) -> _Bound | None:
    if reference is None:
        return None
    group, _, version = reference.get("apiVersion", "").rpartition("/")
    kind, name = reference.get("kind", ""), reference.get("name", "")
    if group or kind not in BOUND_TO:
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    held = _find(write, kind, name)
    if held is None:
        raise not_found(_resource(kind), name)
    node = _node_of(write, held) if kind == "Pod" else None
    uid = held["metadata"]["uid"]
    if reference.get("uid") and reference["uid"] != uid:
        raise _conflict(
            kind,
            name,
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID in "
            "record. The object might have been deleted and then recreated",
        )
    return _Bound(reference=BoundObject(kind=kind, name=name, uid=uid), node=node)


def _node_of(write: Write, pod: Document) -> BoundObject | None:
    spec = pod.get("spec", {})
    if spec.get("serviceAccountName", "") != write.target.name:
        raise bad_request(
            f'cannot bind token for serviceaccount "{write.target.name}" to pod running with '
            "different serviceaccount name."
        )
    name = spec.get("nodeName", "")
    if not name:
        return None
    node = _find(write, "Node", name)
    uid = node["metadata"]["uid"] if node is not None else ""
    return BoundObject(kind="Node", name=name, uid=uid)


def _resource(kind: str) -> Resource:
    return resources_by_path()["", "v1", BOUND_TO[kind]]


def _find(write: Write, kind: str, name: str) -> Document | None:
    key = name if kind == "Node" else f"{write.target.namespace}/{name}"
    record = write.cluster.collection(kind_of(_resource(kind))).newest(key)
    return None if record is None else record.document()


def _check_place(write: Write, meta: Document) -> None:
    target = write.target
    check_namespace(write, meta)
    given = meta.get("name", "")
    if given and given != target.name:
        why = "must match the service account name if specified"
        error = FieldError.invalid("metadata.name", given, why)
        raise invalid(GROUP, KIND, target.name, [error])


def _check_uid(write: Write, meta: Document, uid: str) -> None:
    given = meta.get("uid", "")
    if given and given != uid:
        raise _conflict(
            KIND,
            write.target.name,
            f"the UID in the token request ({given}) does not match the UID of the service account "
            f"({uid})",
            group=GROUP,
        )


def _conflict(kind: str, name: str, why: str, *, group: str = "") -> ApiError:
    details: Document = {"name": name, "kind": kind} | ({"group": group} if group else {})
    shown = f"{kind}.{group}" if group else kind
    message = f'Operation cannot be fulfilled on {shown} "{name}": {why}'
    return ApiError(409, "Conflict", message, details)


def _seconds_errors(seconds: int) -> list[FieldError]:
    field = "spec.expirationSeconds"
    if seconds < SHORTEST:
        why = "may not specify a duration less than 10 minutes"
        return [FieldError.invalid(field, seconds, why)]
    if seconds > LONGEST:
        why = "may not specify a duration larger than 2^32 seconds"
        return [FieldError.invalid(field, seconds, why)]
    return []


def _size_errors(spec: Document) -> list[FieldError]:
    """A token must fit into a header."""
    if sum(map(len, spec.get("audiences") or ())) <= AUDIENCE_CHARACTERS:
        return []
    return [FieldError.invalid("spec.audiences", "", "the audiences are too long for a token")]


def _refuse(errors: list[FieldError]) -> None:
    if errors:
        raise invalid(GROUP, KIND, "", errors)
