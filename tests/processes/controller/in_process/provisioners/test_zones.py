import pytest

from plimsoll.processes.controller.in_process.provisioners.protocol import ProvisionerError, Trouble
from plimsoll.processes.controller.in_process.provisioners.zones import (
    Allowed,
    choose_zones,
    region_of,
)
from tests.builders import a_node
from tests.processes.controller.in_process.provisioners.at_once import (
    a_class_with,
    a_request,
    a_zonal_node,
)

NODES = tuple(a_zonal_node(f"europe-{zone}") for zone in "abc")
ANY = Allowed(None)


def chosen(claim: str, count: int = 1) -> tuple[str, ...]:
    return choose_zones(a_request(claim=claim, nodes=NODES), ANY, count)


def test_members_of_a_set_go_round_the_zones() -> None:
    zones = [chosen(f"data-web-{ordinal}")[0] for ordinal in range(6)]
    assert zones[:3] == zones[3:]
    assert sorted(zones[:3]) == ["europe-a", "europe-b", "europe-c"]


def test_all_claims_of_a_member_are_in_the_same_zone() -> None:
    for ordinal in range(5):
        assert chosen(f"data-web-{ordinal}") == chosen(f"logs-web-{ordinal}")


@pytest.mark.parametrize(
    ("claim", "zone"),
    # As Kubernetes' own provisioners chose among three zones by the hash of the claim's name.
    [("henley", "europe-a"), ("data-web-0", "europe-a"), ("data-web-1", "europe-b")],
)
def test_the_choice_depends_on_the_name_alone(claim: str, zone: str) -> None:
    assert chosen(claim) == (zone,)


def test_two_zones_are_never_the_same() -> None:
    for ordinal in range(5):
        assert len(set(chosen(f"data-{ordinal}", 2))) == 2


def test_the_zone_of_the_selected_node_comes_first() -> None:
    request = a_request(node=NODES[1], nodes=NODES)
    assert choose_zones(request, ANY, 1) == ("europe-b",)
    first, second = choose_zones(request, ANY, 2)
    assert first == "europe-b"
    assert second in ("europe-a", "europe-c")


@pytest.mark.parametrize(
    "node",
    [pytest.param(NODES[2], id="other-zone"), pytest.param(a_node("homeless"), id="no-zone")],
)
def test_a_node_out_of_reach_is_the_wrong_node(node: object) -> None:
    request = a_request(node=node, nodes=NODES)  # type: ignore[arg-type] # parametrized
    with pytest.raises(ProvisionerError) as refusal:
        choose_zones(request, Allowed(frozenset({"europe-a", "europe-b"})), 1)
    assert refusal.value.trouble is Trouble.WRONG_NODE


def test_without_zones_nothing_is_made() -> None:
    with pytest.raises(ProvisionerError, match="1 zones are needed, allowed or known: none"):
        choose_zones(a_request(), ANY, 1)


@pytest.mark.parametrize(
    ("parameters", "topologies", "zones"),
    [
        pytest.param({"zone": "a"}, (), {"a"}, id="zone"),
        pytest.param({"zones": "a, b"}, (), {"a", "b"}, id="zones"),
        pytest.param({}, ("a", "b"), {"a", "b"}, id="topologies"),
        pytest.param({}, (), None, id="anywhere"),
    ],
)
def test_a_class_says_which_zones_it_allows(
    parameters: dict[str, str], topologies: tuple[str, ...], zones: set[str] | None
) -> None:
    allowed = Allowed.by(a_class_with(parameters, zones=topologies))
    assert allowed.zones == zones


@pytest.mark.parametrize(
    ("parameters", "topologies", "why"),
    [
        ({"zone": "a", "zones": "b"}, (), "exclude each other"),
        ({"zone": "a"}, ("a",), "allowedTopologies exclude each other"),
        ({"zone": "a,b"}, (), "more than one zone"),
        ({"zones": "a,,b"}, (), "empty zone"),
    ],
)
def test_a_class_that_contradicts_itself_is_refused(
    parameters: dict[str, str], topologies: tuple[str, ...], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        Allowed.by(a_class_with(parameters, zones=topologies))


def test_a_region_is_known_from_nodes_and_never_guessed() -> None:
    assert region_of("europe-a", NODES) == "europe"
    assert region_of("us-central1-f", NODES) == ""
