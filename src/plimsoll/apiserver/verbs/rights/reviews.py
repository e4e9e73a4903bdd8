"""Questions about identity and rights: answered, never stored."""

from collections.abc import Iterator
from dataclasses import dataclass

from plimsoll.api.registry import Document
from plimsoll.api.selectors.field import SPECIAL, FieldTerm
from plimsoll.apiserver.access.attributes import AccessAttributes
from plimsoll.apiserver.access.authorizer import AuthorizationMode
from plimsoll.apiserver.access.rbac.rules import written_rule
from plimsoll.apiserver.access.tokens.account_tokens import AUDIENCES
from plimsoll.apiserver.access.tokens.jwt import InvalidTokenError
from plimsoll.apiserver.access.users import User, find_node, user_info
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.status import ApiError, bad_request, invalid
from plimsoll.apiserver.storage.cluster import StoredCluster, timestamp

AUTHORIZATION = "authorization.k8s.io"
ONE_OF = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
NODES_UNLISTED = "node authorizer does not support user rule resolution"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A question, and all that is needed to answer it."""

    cluster: StoredCluster
    user: User
    namespace: str
    """Of the path."""
    document: Document

    @property
    def spec(self) -> Document:
        return self.document.get("spec") or {}

    def answered(self, kind: str) -> Document:
        """The document with its status filled in. Raises ApiError."""
        match kind:
            case "SelfSubjectReview":
                now = timestamp(self.cluster.clock.now())
                head = {"metadata": {"creationTimestamp": now}}
                return self.document | head | {"status": {"userInfo": user_info(self.user)}}
            case "SelfSubjectAccessReview":
                _refuse(_about_errors(self.spec))
                return self.document | {"status": self._access(self.user)}
            case "SubjectAccessReview":
                _refuse([*_about_errors(self.spec), *_subject_errors(self.spec)])
                return self.document | {"status": self._access(_subject(self.spec))}
            case "LocalSubjectAccessReview":
                return self._local()
            case "SelfSubjectRulesReview":
                return self.document | {"status": self._rules()}
            case _:
                return self.document | {"status": self._token()}

    def _local(self) -> Document:
        meta = {"namespace": self.namespace} | self.document.get("metadata", {})
        _refuse([*_about_errors(self.spec), *_subject_errors(self.spec), *self._local_errors()])
        return self.document | {"metadata": meta, "status": self._access(_subject(self.spec))}

    def _local_errors(self) -> Iterator[FieldError]:
        asked = self.spec.get("resourceAttributes")
        if asked is not None and asked.get("namespace", "") != self.namespace:
            yield FieldError.invalid(
                "spec.resourceAttributes.namespace",
                asked.get("namespace", ""),
                "must match metadata.namespace",
            )
        if self.spec.get("nonResourceAttributes") is not None:
            yield FieldError.invalid(
                "spec.nonResourceAttributes",
                self.spec["nonResourceAttributes"],
                "disallowed on this kind of request",
            )

    def _access(self, user: User) -> Document:
        decision = self.cluster.access.explain(user, reviewed_attributes(self.spec))
        status: Document = {"allowed": decision.allowed}
        return status | ({"reason": decision.reason} if decision.reason else {})

    def _rules(self) -> Document:
        namespace = self.spec.get("namespace", "")
        if not namespace:
            raise bad_request("no namespace on request")
        rules = tuple(self.cluster.access.rules_of(self.user, namespace))
        status: Document = {
            "resourceRules": [written_rule(rule) for rule in rules if rule.resources],
            "nonResourceRules": [written_rule(rule) for rule in rules if rule.paths],
            "incomplete": False,
        }
        asks_nodes = AuthorizationMode.NODE in self.cluster.access.modes
        if asks_nodes and find_node(self.user) is not None:
            status |= {"incomplete": True, "evaluationError": NODES_UNLISTED}
        return status

    def _token(self) -> Document:
        token = self.spec.get("token", "")
        if not token:
            raise bad_request("token is required for TokenReview in authentication")
        audiences = tuple(self.spec.get("audiences") or AUDIENCES)
        try:
            found = self.cluster.authenticator.identify(token, audiences)
        except InvalidTokenError as error:
            return {"user": {}, "error": f"[invalid bearer token, {error}]"}
        return {
            "authenticated": True,
            "user": user_info(found.user),
            "audiences": list(found.audiences),
        }


def reviewed_attributes(spec: Document) -> AccessAttributes:
    """What a review asks for."""
    path = spec.get("nonResourceAttributes")
    if path is not None:
        return AccessAttributes(verb=path.get("verb", ""), path=path.get("path", ""))
    asked = spec.get("resourceAttributes") or {}
    return AccessAttributes(
        verb=asked.get("verb", ""),
        group=asked.get("group", ""),
        resource=asked.get("resource", ""),
        subresource=asked.get("subresource", ""),
        namespace=asked.get("namespace", ""),
        name=asked.get("name", ""),
        field_selector=_field_selector(asked.get("fieldSelector") or {}),
    )


def _field_selector(given: Document) -> str:
    """As a list would send it. What no selector of fields can say is left out, as if it were not
    asked for: the answer is about more objects then, never about fewer."""
    raw: str = given.get("rawSelector", "")
    terms = [
        str(FieldTerm(each["key"], each["values"][0], is_equal=each["operator"] == "In"))
        for each in given.get("requirements") or ()
        if each.get("operator") in ("In", "NotIn")
        and len(each.get("values") or ()) == 1
        # Such a key is no field's, and would be read as several conditions.
        and not SPECIAL.search(each["key"])
    ]
    return raw or ",".join(terms)


def _subject(spec: Document) -> User:
    extra = spec.get("extra") or {}
    return User(
        name=spec.get("user", ""),
        groups=tuple(spec.get("groups") or ()),
        uid=spec.get("uid", ""),
        extra=tuple(sorted((key.lower(), tuple(values)) for key, values in extra.items())),
    )


def _one_of(spec: Document) -> Iterator[FieldError]:
    given = [spec.get("nonResourceAttributes"), spec.get("resourceAttributes")]
    if sum(each is not None for each in given) != 1:
        yield FieldError.invalid("spec", given[0], ONE_OF)


def _about_errors(spec: Document) -> Iterator[FieldError]:
    yield from _one_of(spec)
    asked = spec.get("resourceAttributes") or {}
    for name in ("fieldSelector", "labelSelector"):
        if asked.get(name) is not None:
            yield from _selector_errors(asked[name], f"spec.resourceAttributes.{name}")


def _selector_errors(given: Document, path: str) -> Iterator[FieldError]:
    raw, requirements = given.get("rawSelector"), given.get("requirements") or ()
    if raw and requirements:
        said = "may not specified at the same time as requirements"
        yield FieldError.invalid(f"{path}.rawSelector", raw, said)
    if not raw and not requirements:
        said = f"when {path} is specified, requirements or rawSelector is required"
        yield FieldError.required(f"{path}.requirements", said)
    for index, each in enumerate(requirements):
        yield from _requirement_errors(each, f"{path}.requirements[{index}]")


def _requirement_errors(given: Document, path: str) -> Iterator[FieldError]:
    operator, values = given.get("operator", ""), given.get("values") or ()
    if operator in ("In", "NotIn") and not values:
        said = "must be specified when `operator` is 'In' or 'NotIn'"
        yield FieldError.required(f"{path}.values", said)
    if operator in ("Exists", "DoesNotExist") and values:
        said = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        yield FieldError.forbidden(f"{path}.values", said)
    if not given.get("key"):
        yield FieldError.required(f"{path}.key", "must be specified")


def _subject_errors(spec: Document) -> Iterator[FieldError]:
    if not spec.get("user") and not spec.get("groups"):
        yield FieldError.invalid("spec.user", "", "at least one of user or group must be specified")


def _refuse(errors: "Iterator[FieldError] | list[FieldError]") -> None:
    found = list(errors)
    if found:
        raise _unnamed(invalid(AUTHORIZATION, "", "", found))


def _unnamed(error: ApiError) -> ApiError:
    """Refusals of reviews name no kind."""
    error.details = {field: value for field, value in (error.details or {}).items() if value}
    return error
