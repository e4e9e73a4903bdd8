"""Lists are consistent at one revision, over all their pages."""

import asyncio
import base64
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from plimsoll.apiserver.storage.revisions import HistoryLimits
from plimsoll.runtime.clock import SteppedClock
from plimsoll.wire.transport import Request
from tests.apiserver.api import MAPS, Api, serving

SECOND = timedelta(seconds=1)


async def pages(api: Api, limit: int, **query: str) -> list[str]:
    names: list[str] = []
    token = ""
    while True:
        page = await api.list(limit=str(limit), **query, **({"continue": token} if token else {}))
        assert page.status == 200
        names += page.names
        token = page.document["metadata"].get("continue", "")
        if not token:
            return names


async def test_a_list_comes_in_pages_that_count_what_remains(api: Api) -> None:
    for name in "edcba":
        await api.create(name)
    first = await api.list(limit="2")
    assert first.names == ["a", "b"]
    assert first.document["metadata"]["remainingItemCount"] == 3
    assert await pages(api, 2) == list("abcde")
    assert await pages(api, 5) == list("abcde")


WRITES = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans()), max_size=4)


@settings(max_examples=40, deadline=None)
@given(
    there=st.sets(st.sampled_from("abcdefgh")),
    limit=st.integers(1, 4),
    between=st.lists(WRITES, max_size=4),
)
def test_pages_show_the_state_at_their_first_moment_whatever_is_written_meanwhile(
    there: set[str], limit: int, between: list[list[tuple[str, bool]]]
) -> None:
    async def story() -> None:
        async with serving() as api:
            for name in there:
                await api.create(name, "old")
            expected = (await api.list()).document["items"]
            page = await api.list(limit=str(limit))
            found, moment = page.document["items"], page.revision
            waves = iter(between)
            while token := page.document["metadata"].get("continue"):
                await wave(api, next(waves, []))
                page = await api.list(limit=str(limit), **{"continue": token})
                assert page.revision == moment
                found += page.document["items"]
            assert found == expected

    asyncio.run(story())


async def wave(api: Api, writes: list[tuple[str, bool]]) -> None:
    for name, is_removal in writes:
        if (await api.get(name)).status == 404:
            await api.create(name, "new")
        elif is_removal:
            await api.delete(name)
        else:
            await api.change(name, "new")


async def test_a_list_at_an_exact_revision_shows_that_moment(api: Api) -> None:
    await api.create("a", "1")
    then = (await api.create("b")).revision
    await api.change("a", "2")
    await api.delete("b")
    past = await api.list(resourceVersion=str(then), resourceVersionMatch="Exact")
    assert (past.names, past.revision) == (["a", "b"], then)
    assert past.document["items"][0]["data"] == {"text": "1"}
    newer = await api.list(resourceVersion=str(then), resourceVersionMatch="NotOlderThan")
    assert newer.names == ["a"]


async def test_a_forgotten_page_is_refused_with_a_token_that_goes_on_from_there(
    clock: SteppedClock,
) -> None:
    async with serving(clock=clock, limits=HistoryLimits(changes=1)) as api:
        for name in "abcd":
            await api.create(name)
        first = await api.list(limit="2")
        await api.create("e")
        await api.create("f")
        await api.server.cluster.revisions.compact()
        late = await api.list(**{"continue": first.document["metadata"]["continue"]})
        assert (late.status, late.document["reason"]) == (410, "Expired")
        fresh = late.document["metadata"]["continue"]
        assert (await api.list(**{"continue": fresh})).names == ["c", "d", "e", "f"]


def token(content: object) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(content)).decode().rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("%%%", id="not-base64"),
        pytest.param(base64.urlsafe_b64encode(b"\xff\xfe").decode(), id="not-json"),
        pytest.param(token([]), id="not-an-object"),
        pytest.param(token({"plimsoll/1": 1}), id="without-a-place"),
        pytest.param(token({"plimsoll/1": "x", "after": ""}), id="without-a-number"),
        pytest.param(token({"plimsoll/1": 1.5, "after": ""}), id="with-half-a-number"),
        pytest.param(token({"plimsoll/1": 1, "after": 7}), id="with-a-number-as-place"),
        pytest.param("A" * 1_000_001, id="very-long"),
    ],
)
async def test_a_token_that_no_server_made_is_a_bad_request(api: Api, text: str) -> None:
    assert (await api.list(**{"continue": text})).status == 400


@pytest.mark.parametrize("revision", [-1, 10**15, 10**30], ids=["before", "after", "far-after"])
async def test_a_token_for_a_moment_that_never_was_is_not_answered_with_another(
    api: Api, revision: int
) -> None:
    made_up = token({"plimsoll/1": revision, "after": ""})
    assert (await api.list(**{"continue": made_up})).status in (400, 410)


async def test_a_version_from_the_future_is_not_answered_with_an_older_state(api: Api) -> None:
    future = str((await api.create("a")).revision + 100)
    for reply in (
        await api.list(resourceVersion=future),
        await api.get("a", resourceVersion=future),
    ):
        assert (reply.status, reply.document["reason"]) == (504, "Timeout")
    async with api.watch(
        resourceVersion=future, sendInitialEvents="true", resourceVersionMatch="NotOlderThan"
    ) as watching:
        refusal = await watching.refusal()
        assert (refusal["code"], refusal["reason"]) == (504, "Timeout")


@pytest.mark.parametrize("text", ["abc", "-1", "1.5", "\N{ARABIC-INDIC DIGIT ONE}", "9" * 21])
async def test_a_version_that_is_no_number_is_a_bad_request(api: Api, text: str) -> None:
    assert (await api.list(resourceVersion=text)).status == 400
    assert (await api.get("x", resourceVersion=text)).status == 400
    async with api.watch(resourceVersion=text) as watching:
        assert watching.status == 400


async def test_a_version_that_is_no_number_is_refused_in_the_words_of_the_real_server(
    api: Api,
) -> None:
    said = 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
    listed, got = await api.list(resourceVersion="abc"), await api.get("x", resourceVersion="abc")
    assert listed.document["message"] == f"invalid resource version: {said}"
    assert got.document["message"] == said


UNREADABLE = [
    pytest.param({"limit": "x"}, '"x": invalid syntax', id="letters"),
    pytest.param({"timeoutSeconds": "abc"}, '"abc": invalid syntax', id="seconds"),
    pytest.param({"limit": ""}, '"": invalid syntax', id="empty"),
    pytest.param({"limit": "1.5"}, '"1.5": invalid syntax', id="a-fraction"),
    pytest.param({"limit": "1_0"}, '"1_0": invalid syntax', id="an-underscore"),
    pytest.param({"limit": "+"}, '"+": invalid syntax', id="a-sign-alone"),
    pytest.param({"limit": "9" * 20}, f'"{"9" * 20}": value out of range', id="20-digits"),
    pytest.param({"limit": "9" * 5000}, f'"{"9" * 5000}": value out of range', id="5000-digits"),
    pytest.param({"limit": "x", "timeoutSeconds": "y"}, '"y": invalid syntax', id="seconds-first"),
    pytest.param({"limit": "x", "labelSelector": "=="}, '"x": invalid syntax', id="number-first"),
]


@pytest.mark.parametrize(("query", "said"), UNREADABLE)
async def test_a_number_that_cannot_be_read_is_a_bad_request(
    api: Api, query: dict[str, str], said: str
) -> None:
    expected = (400, f"strconv.ParseInt: parsing {said}")
    await api.create("kept")
    async with api.watch(**query) as watching:
        watched = msgspec.json.decode(watching.body)
    for reply in (await api.list(**query), await api.ask("DELETE", MAPS, **query)):
        assert (reply.status, reply.document["message"]) == expected
    assert (watched["code"], watched["message"]) == expected
    assert (await api.get("kept")).status == 200


@pytest.mark.parametrize("limit", ["+5", "010", "-5", "0" * 30])
async def test_a_number_may_have_a_sign_and_zeros_in_front(api: Api, limit: str) -> None:
    assert (await api.list(limit=limit)).status == 200


@pytest.mark.parametrize(("watch", "is_watch"), [("maybe", True), ("0", False), ("FALSE", False)])
async def test_everything_but_no_is_a_yes(api: Api, watch: str, is_watch: bool) -> None:  # noqa: FBT001
    async with api.transport.stream(
        Request(method="GET", path=MAPS, query=(("watch", watch),))
    ) as response:
        is_list = response.body.startswith(b"{")
        assert is_list is not is_watch


@pytest.mark.parametrize(
    ("query", "reasons"),
    [
        (
            {"resourceVersionMatch": "foo"},
            [
                "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
                'Unsupported value: "foo": supported values: "Exact", "NotOlderThan", ""',
            ],
        ),
        (
            {"resourceVersionMatch": "foo", "resourceVersion": "1", "continue": "x"},
            [
                "Forbidden: resourceVersionMatch is forbidden when continue is provided",
                'Unsupported value: "foo": supported values: "Exact", "NotOlderThan", ""',
            ],
        ),
        (
            {"sendInitialEvents": "maybe"},
            ["Forbidden: sendInitialEvents is forbidden for list"],
        ),
    ],
)
async def test_all_that_is_wrong_with_the_options_of_a_list_is_told(
    api: Api, query: dict[str, str], reasons: list[str]
) -> None:
    for reply in (await api.list(**query), await api.ask("DELETE", MAPS, **query)):
        causes = reply.document["details"]["causes"]
        assert [cause["message"] for cause in causes] == reasons


@pytest.mark.parametrize(
    "query",
    [
        pytest.param({"resourceVersionMatch": "Exact"}, id="match-without-version"),
        pytest.param({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, id="exactly-zero"),
        pytest.param({"resourceVersionMatch": "Some", "resourceVersion": "1"}, id="unknown-match"),
        pytest.param(
            {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
            id="initial-events-of-a-list",
        ),
    ],
)
async def test_options_that_make_no_sense_for_a_list_are_refused(
    api: Api, query: dict[str, str]
) -> None:
    reply = await api.list(**query)
    assert (reply.status, reply.document["reason"]) == (422, "Invalid")


async def test_zero_asks_for_any_state_and_takes_no_limit(api: Api) -> None:
    for name in "abc":
        await api.create(name)
    assert (await api.list(resourceVersion="0", limit="1")).names == ["a", "b", "c"]


@pytest.mark.parametrize("query", [{"labelSelector": "=="}, {"fieldSelector": "spec.x=1"}])
async def test_a_selector_that_cannot_be_read_is_a_bad_request(
    api: Api, query: dict[str, str]
) -> None:
    assert (await api.list(**query)).status == 400


async def test_two_namespaces_do_not_see_each_other(api: Api) -> None:
    await api.create("a")
    other = MAPS.replace("default", "kube-public")
    assert (await api.ask("POST", other, {"metadata": {"name": "b"}})).status == 201
    async with api.watch(other) as watching:
        assert await watching.seen() == [("ADDED", "b")]
    assert (await api.list()).names == ["a"]
    assert (await api.ask("GET", "/api/v1/configmaps")).names == ["a", "b"]
