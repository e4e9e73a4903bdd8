"""Which verb a request asks for, and which targets have it."""

import pytest

from plimsoll.apiserver.http.requests import Query, parse_target
from plimsoll.apiserver.model.status import ApiError
from plimsoll.apiserver.verbs.verb import Verb, check_part, check_verb, verb_of
from plimsoll.wire.transport import Request

MAPS = "/api/v1/namespaces/default/configmaps"
POD = "/api/v1/namespaces/default/pods/a"


def verb(method: str, path: str, **query: str) -> Verb:
    request = Request(method=method, path=path, query=tuple(query.items()))
    target = parse_target(path)
    found = verb_of(request, target, Query(request))
    check_verb(found, target)
    return found


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        pytest.param("GET", f"{MAPS}/a", {}, Verb.GET, id="get"),
        pytest.param("GET", MAPS, {}, Verb.LIST, id="list"),
        pytest.param("GET", MAPS, {"watch": "1"}, Verb.WATCH, id="watch"),
        pytest.param("GET", MAPS, {"watch": "false"}, Verb.LIST, id="no-watch"),
        pytest.param("GET", "/api/v1/watch/configmaps", {}, Verb.WATCH, id="watch-by-path"),
        pytest.param("POST", MAPS, {}, Verb.CREATE, id="create"),
        pytest.param("POST", f"{POD}/binding", {}, Verb.CREATE, id="create-a-binding"),
        pytest.param("PUT", f"{MAPS}/a", {}, Verb.UPDATE, id="update"),
        pytest.param("PATCH", f"{POD}/status", {}, Verb.PATCH, id="patch-a-status"),
        pytest.param("DELETE", f"{MAPS}/a", {}, Verb.DELETE, id="delete"),
        pytest.param("DELETE", MAPS, {}, Verb.DELETE_COLLECTION, id="delete-all"),
    ],
)
def test_method_path_and_query_make_a_verb(
    method: str, path: str, query: dict[str, str], expected: Verb
) -> None:
    assert verb(method, path, **query) is expected


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("TRACE", MAPS, id="unknown-method"),
        pytest.param("POST", f"{MAPS}/a", id="create-with-a-name"),
        pytest.param("POST", "/api/v1/configmaps", id="create-without-a-namespace"),
        pytest.param("PUT", MAPS, id="update-without-a-name"),
        pytest.param("PATCH", MAPS, id="patch-without-a-name"),
        pytest.param("DELETE", "/api/v1/configmaps", id="delete-all-of-all-namespaces"),
        pytest.param("DELETE", f"{POD}/status", id="verb-that-the-subresource-has-not"),
    ],
)
def test_a_verb_without_a_meaning_is_not_allowed(method: str, path: str) -> None:
    with pytest.raises(ApiError) as refused:
        verb(method, path)
    assert refused.value.code == 405


def test_subresources_that_are_no_part_of_their_object_are_not_served() -> None:
    check_part(parse_target(f"{POD}/status"))
    with pytest.raises(ApiError) as refused:
        check_part(parse_target(f"{POD}/log"))
    assert refused.value.code == 404
