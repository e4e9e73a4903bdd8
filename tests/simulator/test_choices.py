"""Which choices of schedulers and provisioners contradict what was chosen before."""

from collections.abc import Iterator
from contextlib import closing

import msgspec
import pytest

from plimsoll.api.registry import Document
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.simulator.choices import DriverCall, SchedulerChoices, SelectedNodes
from plimsoll.simulator.engine.loop import VirtualLoop
from plimsoll.simulator.engine.process import SimulatedProcess
from plimsoll.wire.transport import Request, Response

DONE, REFUSED = Response(status=200), Response(status=409)


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    with closing(VirtualLoop()) as made:
        yield made


@pytest.fixture
def scheduler(loop: VirtualLoop) -> SimulatedProcess:
    return SimulatedProcess(loop, "scheduler-0")


def given_to(claim: str, version: str = "7") -> Request:
    patch = {"metadata": {"resourceVersion": version}, "spec": {"claimRef": {"uid": claim}}}
    path = "/api/v1/persistentvolumes/disk-0"
    return Request(method="PATCH", path=path, body=msgspec.json.encode(patch))


@pytest.mark.parametrize("answer", [DONE, "none yet"], ids=["after success", "under way"])
def test_a_scheduler_that_gives_one_volume_to_two_claims_contradicts_itself(
    scheduler: SimulatedProcess, answer: Response | str
) -> None:
    choices = SchedulerChoices()
    assert choices.sent(scheduler, given_to("a")) == ""
    if isinstance(answer, Response):
        choices.answered(scheduler, given_to("a"), answer)

    assert "to b, and the same version to a" in choices.sent(scheduler, given_to("b"))


@pytest.mark.parametrize("answer", [REFUSED, None], ids=["refused", "no answer"])
def test_a_write_that_failed_binds_no_scheduler(
    scheduler: SimulatedProcess, answer: Response | None
) -> None:
    choices = SchedulerChoices()
    choices.sent(scheduler, given_to("a"))
    choices.answered(scheduler, given_to("a"), answer)

    assert choices.sent(scheduler, given_to("b")) == ""


def test_another_version_or_another_scheduler_is_another_choice(
    scheduler: SimulatedProcess, loop: VirtualLoop
) -> None:
    choices = SchedulerChoices()
    choices.sent(scheduler, given_to("a"))
    other = SimulatedProcess(loop, "scheduler-1")

    assert choices.sent(scheduler, given_to("b", version="8")) == ""
    assert choices.sent(other, given_to("b")) == ""


def a_claim(node: str) -> Document:
    annotations = {SELECTED_NODE: node} if node else {}
    return {"metadata": {"uid": "1", "annotations": annotations}, "spec": {}}


VOLUME: Document = {"metadata": {"name": "pvc-1"}, "spec": {"claimRef": {"uid": "1"}}}


@pytest.mark.parametrize(
    ("history", "found"),
    [
        pytest.param([(1.0, "x")], None, id="the node that the call was made for"),
        pytest.param([(1.0, "x"), (15.0, "")], "", id="none any more"),
        pytest.param([(1.0, "x"), (15.0, ""), (16.0, "y")], "y", id="another one meanwhile"),
        pytest.param([(1.0, "x"), (15.0, ""), (16.0, "x")], None, id="the same one again"),
        pytest.param([(1.0, "x"), (15.0, ""), (25.0, "y")], None, id="another one afterwards"),
        pytest.param([(1.0, "y"), (2.0, "x"), (15.0, "y")], None, id="one from before the call"),
    ],
)
def test_a_volume_is_for_the_node_that_was_selected_while_it_was_made(
    history: list[tuple[float, str]], found: str | None
) -> None:
    selected = SelectedNodes()
    for at, node in history:
        selected.claim_changed(at, a_claim(node))
    selected.creations["pvc-1"] = DriverCall(sent_at=10.0, answered_at=20.0)

    assert selected.find_stray(VOLUME, {}, waits=True) == (None if found is None else (found, None))


OURS, STOCK = "provisioner-zonal.sim-0", "csi-provisioner-zonal.sim"


@pytest.mark.parametrize(
    ("senders", "is_stock"),
    [
        pytest.param([(STOCK, "id-1")], True, id="csi-provisioner"),
        pytest.param([(OURS, "id-1")], False, id="ours"),
        pytest.param([(STOCK, "id-1"), (OURS, "id-1")], False, id="both, the same volume"),
        pytest.param([(STOCK, "id-2"), (OURS, "id-1")], False, id="both, ours was stored"),
        pytest.param([(STOCK, "id-1"), (OURS, "id-2")], True, id="both, ours was not stored"),
        pytest.param([], False, id="nobody knows"),
    ],
)
def test_only_what_csi_provisioner_alone_recorded_is_its_own(
    loop: VirtualLoop, senders: list[tuple[str, str]], *, is_stock: bool
) -> None:
    def recorded(handle: str) -> Document:
        return VOLUME | {"spec": VOLUME["spec"] | {"csi": {"volumeHandle": handle}}}

    selected = SelectedNodes()
    for name, handle in senders:
        body = msgspec.json.encode(recorded(handle))
        request = Request(method="POST", path="/api/v1/persistentvolumes", body=body)
        selected.volume_sent(SimulatedProcess(loop, name), request)

    assert selected.is_stock(recorded("id-1")) is is_stock


def test_a_node_that_is_taken_off_a_waiting_claim_has_refused_it() -> None:
    selected = SelectedNodes()
    for at, node in enumerate(("x", "", "x", "", "y")):
        selected.claim_changed(float(at), a_claim(node))

    assert selected.refusals == {("1", "x"): 2}
