"""How volumes in flight are charged; what is reserved is in `reservations`."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from plimsoll.api.core import Lease
from plimsoll.api.meta import ApiObject, ObjectMeta
from plimsoll.api.storage import CSIDriver, StorageClass
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.capacity.pools import CLASS_POOL, POOLS, PublishedPool, pools_text
from plimsoll.decide.capacity.tokens import CAPACITY_TOKEN
from plimsoll.decide.capacity.volume_sizes import Cost
from plimsoll.decide.provisioning.intents import CONTENT, Intent, IntentState, recorded_claim
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import Blocked
from plimsoll.decide.scheduling.kernel import Kernel
from plimsoll.decide.scheduling.reasons import Reason
from plimsoll.decide.scheduling.rule_fit import Rejected
from plimsoll.decide.scheduling.rules.volume_binding.charges import (
    RESERVATIONS,
    PoolCharges,
    ReservationMode,
    mode_of,
)
from tests.builders import (
    DRIVER,
    HOSTNAME,
    a_capacity,
    a_claim,
    a_class,
    a_driver,
    a_node,
    a_pod,
    a_volume,
)


def saying(object_: ApiObject, mode: str) -> ApiObject:
    annotations = {RESERVATIONS: mode} if mode else {}
    metadata = msgspec.structs.replace(object_.metadata, annotations=annotations)
    return msgspec.structs.replace(object_, metadata=metadata)


@pytest.mark.parametrize(
    ("of_class", "of_driver", "declared", "mode"),
    [
        pytest.param("", "", True, ReservationMode.LINEAR, id="declared-pools"),
        pytest.param("", "", False, ReservationMode.NONE, id="nothing-is-declared"),
        pytest.param("", "linear", False, ReservationMode.LINEAR, id="the-driver-says"),
        pytest.param("none", "linear", True, ReservationMode.NONE, id="the-class-says-otherwise"),
        pytest.param("single-slot", "", True, ReservationMode.SINGLE_SLOT, id="one-at-a-time"),
        pytest.param("all", "none", True, ReservationMode.NONE, id="nonsense-says-nothing"),
    ],
)
def test_the_class_says_how_then_the_driver(
    of_class: str, of_driver: str, *, declared: bool, mode: ReservationMode
) -> None:
    storage_class, driver = saying(a_class(), of_class), saying(a_driver(), of_driver)
    assert isinstance(storage_class, StorageClass)
    assert isinstance(driver, CSIDriver)
    assert mode_of(storage_class, driver, is_declared=declared) is mode


# What is worked out change by change is what is worked out anew

GIB = 2**30
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NODES, CLASSES = ("n0", "n1", "n2"), ("fast", "safe")
Event = Callable[[Columns], None]


def noted(object_: ApiObject, annotations: dict[str, str]) -> ApiObject:
    metadata = msgspec.structs.replace(
        object_.metadata,
        annotations={**object_.annotations, **annotations},
        creation_timestamp=NOON,
    )
    return msgspec.structs.replace(object_, metadata=metadata)


def put(object_: ApiObject) -> Event:
    return lambda columns: columns.put(object_)


def remove(object_: ApiObject) -> Event:
    return lambda columns: columns.remove(object_)


def a_user(number: int, node: str) -> ApiObject:
    pod = a_pod(f"user-{number}", claims=[f"other-{number}"])
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))


@st.composite
def capacities(draw: st.DrawFn) -> ApiObject:
    """Nodes n0 and n1 may share a pool; there may be none, and no token."""
    node, class_ = draw(st.sampled_from(NODES)), draw(st.sampled_from(CLASSES))
    gib, counter = draw(st.integers(0, 12)), draw(st.integers(0, 6))
    made = a_capacity(f"{node}-{class_}", segment={HOSTNAME: node}, gib=gib, class_name=class_)
    name = draw(st.sampled_from(["", node, "shared"]))
    pool = PublishedPool(name=name, free={"": gib * GIB}, cost=Cost())
    told = {POOLS: str(pools_text([pool]))} if name else {}
    return noted(made, told | ({CAPACITY_TOKEN: f"1.0.{counter}"} if counter else {}))


@st.composite
def claims(draw: st.DrawFn) -> ApiObject:
    number, gib = draw(st.integers(0, 5)), draw(st.integers(1, 6))
    made = a_claim(f"other-{number}", gib=gib, class_name=draw(st.sampled_from(CLASSES)))
    node = draw(st.sampled_from(["", *NODES, "gone"]))
    return noted(made, {SELECTED_NODE: node} if node else {})


@st.composite
def volumes(draw: st.DrawFn) -> ApiObject:
    number, counter = draw(st.integers(0, 5)), draw(st.integers(0, 6))
    claim, node = a_claim(f"other-{number}"), draw(st.sampled_from(["", *NODES]))
    reach = {HOSTNAME: node} if node else None
    made = a_volume(f"of-{number}", gib=draw(st.integers(1, 6)), claim=claim, reachable_from=reach)
    return noted(made, {CAPACITY_TOKEN: f"1.0.{counter}"} if counter else {})


@st.composite
def intents(draw: st.DrawFn) -> ApiObject:
    number, attempt = draw(st.integers(0, 5)), draw(st.integers(0, 2))
    claim = a_claim(f"other-{number}", gib=draw(st.integers(1, 6)), class_name="fast")
    intent = Intent(
        driver=DRIVER,
        claim=recorded_claim(claim),
        volume_name=f"of-{number}",
        number=attempt,
        state=draw(st.sampled_from(IntentState)),
        selected_node=draw(st.sampled_from(["", *NODES, "gone"])),
    )
    content = msgspec.json.encode(intent).decode()
    return noted(
        Lease(metadata=ObjectMeta(name=intent.name, namespace="plimsoll")), {CONTENT: content}
    )


@st.composite
def classes(draw: st.DrawFn) -> ApiObject:
    mode = draw(st.sampled_from(["", "linear", "single-slot", "none"]))
    told = {RESERVATIONS: mode} | ({CLASS_POOL: "disks"} if draw(st.booleans()) else {})
    return noted(a_class(draw(st.sampled_from(CLASSES))), told)


def advanced(seconds: int) -> Event:
    def advance(columns: Columns) -> None:
        columns.reservations.advance(NOON + timedelta(seconds=seconds))

    return advance


users = st.builds(a_user, st.integers(0, 5), st.sampled_from(["", "n0"]))
objects = st.one_of(capacities(), claims(), volumes(), intents(), users)
events = st.one_of(
    objects.map(put),
    objects.map(put),
    objects.map(remove),
    classes().map(put),
    st.integers(0, 900).map(advanced),
    st.sampled_from(NODES).map(lambda name: remove(a_node(name))),
    st.sampled_from(NODES).map(lambda name: put(a_node(name))),
)
FLAGS = {
    Reason.CAPACITY_RESERVED: Blocked.DELAYED_RESERVED,
    Reason.CLAIMS_DO_NOT_FIT_TOGETHER: Blocked.DELAYED_TOGETHER,
}


@settings(deadline=None)
@given(st.lists(events, max_size=40))
def test_charges_that_follow_each_change_equal_those_worked_out_anew(played: list[Event]) -> None:
    mine = [a_claim("one", gib=3, class_name="fast"), a_claim("two", gib=2, class_name="safe")]
    web = a_pod("web", claims=["one", "two"])
    world = [*map(a_node, NODES), *map(a_class, CLASSES), a_driver(), *mine]
    columns = Columns.of(world)
    kernel = Kernel(columns)
    for event in played:
        event(columns)
        judged = kernel.judge(web)
        joint = kernel.joint_fit
        assert joint is not None
        assert joint.charges is not None
        assert joint.charges.listed() == PoolCharges(columns.fork()).listed()
        assert not isinstance(judged, Rejected)
        for slot, name in enumerate(columns.index.names):
            if columns.node(name) is None:
                continue
            plain = {finding.reason for finding in kernel.explain_node(web, name).findings}
            for reason, flag in FLAGS.items():
                assert bool(int(judged.flags[slot]) & flag) == (reason in plain)


def test_a_charge_ends_when_the_last_object_of_its_pool_counts_the_volume_in() -> None:
    """That object is about another node than the one that was selected."""

    def published(node: str, counter: int) -> ApiObject:
        made = a_capacity(node, segment={HOSTNAME: node}, gib=10, class_name="fast")
        pool = PublishedPool(name="shared", free={"": 10 * GIB}, cost=Cost())
        told = {POOLS: str(pools_text([pool])), CAPACITY_TOKEN: f"1.0.{counter}"}
        return noted(made, told)

    claim = a_claim("other", gib=3, class_name="fast")
    volume = noted(a_volume("of-other", gib=3, claim=claim), {CAPACITY_TOKEN: "1.0.2"})
    columns = Columns.of(
        [
            *map(a_node, NODES),
            *map(a_class, CLASSES),
            a_driver(),
            noted(claim, {SELECTED_NODE: "n0"}),
            volume,
            published("n0", 2),
            published("n1", 1),
        ]
    )
    charges = PoolCharges(columns)
    assert [each.reservation.claim for each in charges.listed()] == [claim.key]
    columns.put(published("n1", 2))
    assert charges.listed() == []


def test_a_volume_in_flight_is_charged_as_soon_as_an_object_of_its_class_lists_pools() -> None:
    """Until then nothing is watched for it."""
    plain = a_capacity("n0", segment={HOSTNAME: "n0"}, gib=10, class_name="fast")
    pool = PublishedPool(name="disks", free={"": 10 * GIB}, cost=Cost())
    listing = noted(plain, {POOLS: str(pools_text([pool]))})
    claim = noted(a_claim("other", gib=3, class_name="fast"), {SELECTED_NODE: "n0"})
    columns = Columns.of(
        [
            *map(a_node, NODES),
            *map(a_class, CLASSES),
            a_driver(),
            plain,
            a_pod("user", claims=["other"]),
            claim,
        ]
    )
    charges = PoolCharges(columns)
    assert charges.listed() == []
    columns.put(listing)
    assert [each.pool.name for each in charges.listed()] == ["disks"]
    columns.put(plain)
    assert charges.listed() == []
