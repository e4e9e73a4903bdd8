"""The graph finds dependents, and says whom to look at after each change."""

import pytest
from hypothesis import given, strategies as st

from plimsoll.api.meta import OwnerReference
from plimsoll.decide.cluster.ownership_graph import (
    FOREGROUND,
    ORPHAN,
    Attention,
    GraphObject,
    OwnedIdentity,
    OwnershipGraph,
)


def ref(
    uid: str, *, block: bool = False, name: str = "", kind: str = "ConfigMap"
) -> OwnerReference:
    return OwnerReference(
        api_version="v1", kind=kind, name=name or uid, uid=uid, block_owner_deletion=block
    )


def known(
    uid: str, *owners: OwnerReference, namespace: str = "default", ending: str = ""
) -> GraphObject:
    """`ending` is the finalizer with which it is being deleted."""
    return GraphObject(
        identity=OwnedIdentity("v1", "ConfigMap", namespace, uid, uid),
        version="1",
        owners=owners,
        finalizers=(ending,) if ending else (),
        is_being_deleted=bool(ending),
    )


def graph_of(*objects: GraphObject) -> OwnershipGraph:
    graph = OwnershipGraph()
    for one in objects:
        graph.put(one)
    return graph


def test_an_object_with_known_owners_needs_no_look() -> None:
    graph = graph_of(known("owner"))
    assert graph.put(known("child", ref("owner"))) == Attention()
    assert [d.uid for d in graph.dependents("owner")] == ["child"]


def test_an_object_whose_owner_was_not_seen_is_looked_at() -> None:
    assert graph_of().put(known("child", ref("owner"))).examine == ("child",)


def test_when_an_owner_goes_its_dependents_are_looked_at() -> None:
    graph = graph_of(known("owner"), known("b", ref("owner")), known("a", ref("owner")))
    assert graph.remove("owner").examine == ("a", "b")
    assert graph.find("owner") is None


def test_when_the_last_dependent_goes_the_owner_that_waits_is_looked_at() -> None:
    child = known("child", ref("owner", block=True))
    graph = graph_of(known("owner", ending=FOREGROUND), child)
    assert graph.remove("child").examine == ("owner",)
    assert graph.blocking("owner") == []


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(known("child"), id="no-longer-owned"),
        pytest.param(known("child", ref("owner")), id="no-longer-blocking"),
    ],
)
def test_an_owner_that_waits_is_looked_at_when_it_need_not_wait_any_more(
    after: GraphObject,
) -> None:
    graph = graph_of(known("owner", ending=FOREGROUND), known("child", ref("owner", block=True)))
    assert "owner" in graph.put(after).examine


def test_deletion_in_the_foreground_rouses_all_dependents() -> None:
    graph = graph_of(known("owner"), known("a", ref("owner")), known("b", ref("owner")))
    assert graph.put(known("owner", ending=FOREGROUND)).examine == ("a", "b", "owner")


def test_an_owner_that_leaves_its_dependents_behind_is_looked_at_itself() -> None:
    graph = graph_of(known("owner"), known("a", ref("owner")))
    assert graph.put(known("owner", ending=ORPHAN)).examine == ("owner",)


@pytest.mark.parametrize("order", ["owner-first", "dependent-first"])
def test_an_owner_in_another_namespace_is_reported_in_either_order(order: str) -> None:
    owner, child = known("owner"), known("child", ref("owner"), namespace="other")
    graph = OwnershipGraph()
    first, second = (owner, child) if order == "owner-first" else (child, owner)
    graph.put(first)
    attention = graph.put(second)
    assert attention.examine == ("child",)
    (bad,) = attention.bad
    assert bad.message == (
        "ownerRef [v1/ConfigMap, namespace: other, name: owner, uid: owner] "
        'does not exist in namespace "other"'
    )


def test_a_reference_by_a_wrong_name_is_looked_at_but_not_reported() -> None:
    graph = graph_of(known("owner"))
    attention = graph.put(known("child", ref("owner", name="misspelt")))
    assert (attention.examine, attention.bad) == (("child",), ())


def test_an_owner_without_a_namespace_can_own_everywhere() -> None:
    graph = graph_of(known("owner", namespace=""))
    assert graph.put(known("child", ref("owner"), namespace="other")) == Attention()


UIDS = st.sampled_from(["a", "b", "c", "d"])
CHANGES = st.lists(
    st.tuples(
        UIDS,
        st.one_of(
            st.none(),
            st.tuples(
                st.lists(st.builds(ref, UIDS, block=st.booleans()), max_size=2),
                st.sampled_from(["", FOREGROUND, ORPHAN]),
            ),
        ),
    ),
    max_size=12,
)


@given(changes=CHANGES)
def test_change_by_change_gives_the_same_graph_as_all_at_once(
    changes: list[tuple[str, tuple[list[OwnerReference], str] | None]],
) -> None:
    graph = OwnershipGraph()
    objects: dict[str, GraphObject] = {}
    for uid, change in changes:
        if change is None:
            objects.pop(uid, None)
            graph.remove(uid)
        else:
            objects[uid] = known(uid, *change[0], ending=change[1])
            graph.put(objects[uid])
    anew = graph_of(*objects.values())
    assert len(graph) == len(anew)
    for uid in "abcd":
        assert graph.find(uid) == anew.find(uid)
        assert graph.dependents(uid) == anew.dependents(uid)
        assert graph.is_settled(uid) == anew.is_settled(uid)


def test_no_object_waits_for_itself_or_for_those_that_wait_for_it() -> None:
    graph = graph_of(
        known("a", ref("a", block=True), ref("c", block=True), ending=FOREGROUND),
        known("b", ref("a", block=True), ending=FOREGROUND),
        known("c", ref("b", block=True), ending=FOREGROUND),
        known("d", ref("c", block=True)),
    )
    assert graph.blocking("a") == []
    assert [blocker.uid for blocker in graph.blocking("c")] == ["d"]
