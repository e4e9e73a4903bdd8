"""Questions of health are answered as kube-apiserver answers them."""

import pytest

from plimsoll.apiserver.http.answers import Answer
from plimsoll.apiserver.http.health import CHECKS, Health, health_answer
from plimsoll.wire.transport import Request
from tests.apiserver.api import Api

WELL = Health()
FULL = Health(store_failure="disk is full")


def asked(path: str, health: Health = WELL, **query: str | list[str]) -> Answer | None:
    pairs = (
        (name, each)
        for name, values in query.items()
        for each in ([values] if isinstance(values, str) else values)
    )
    request = Request(method="GET", path=path, query=tuple(pairs))
    return health_answer(request, path.split("/")[1], health)


def said(path: str, health: Health = WELL, **query: str | list[str]) -> str:
    answer = asked(path, health, **query)
    assert answer is not None
    return answer.body.decode()


@pytest.mark.parametrize("probe", [*CHECKS])
def test_the_checks_are_listed_if_that_is_asked_for(probe: str) -> None:
    assert said(f"/{probe}") == "ok"
    lines = said(f"/{probe}", verbose="").splitlines()
    assert lines[:3] == ["[+]ping ok", "[+]log ok", "[+]etcd ok"]
    assert "[+]poststarthook/rbac/bootstrap-roles ok" in lines
    assert lines[-1] == f"{probe} check passed"


@pytest.mark.parametrize("probe", [*CHECKS])
def test_each_check_has_a_path_of_its_own(probe: str) -> None:
    for line in said(f"/{probe}", verbose="").splitlines()[:-1]:
        assert said(f"/{probe}/{line.removeprefix('[+]').removesuffix(' ok')}") == "ok"
    for unknown in ("nope", "", "etcd/", "poststarthook"):
        assert asked(f"/{probe}/{unknown}") is None


def test_only_readiness_asks_for_writing_and_for_the_end() -> None:
    for name in ("etcd-readiness", "informer-sync", "shutdown"):
        assert asked(f"/readyz/{name}") is not None
        assert asked(f"/livez/{name}") is None


def test_checks_can_be_excluded() -> None:
    lines = said("/readyz", verbose="", exclude=["etcd", "nope", "neither"]).splitlines()
    assert "[+]etcd excluded: ok" in lines
    assert lines[-2:] == [
        'warn: some health checks cannot be excluded: no matches for "neither","nope"',
        "readyz check passed",
    ]
    assert said("/readyz", exclude="etcd") == "ok"


def test_what_fails_is_named_and_the_reason_told_by_the_check_alone() -> None:
    answer = asked("/readyz", FULL)
    assert answer is not None
    assert answer.status == 500
    lines = answer.body.decode().splitlines()
    assert "[-]etcd-readiness failed: reason withheld" in lines
    assert lines[-1] == "readyz check failed"
    assert said("/readyz/etcd-readiness", FULL) == "internal server error: disk is full\n"
    assert said("/readyz/etcd", FULL) == said("/readyz", FULL, exclude="etcd-readiness") == "ok"
    assert said("/livez", FULL) == "ok"


def test_a_server_that_stops_is_not_ready() -> None:
    assert "[-]shutdown failed: reason withheld" in said("/readyz", Health(is_stopping=True))


async def test_the_server_answers_so(api: Api) -> None:
    assert b"[+]etcd-readiness ok" in (await api.ask("GET", "/readyz", verbose="")).document
    assert (await api.ask("GET", "/livez/ping")).document == b"ok"
    assert (await api.ask("GET", "/livez/nope")).status == 404
