import pytest

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectMeta
from plimsoll.decide.ceph.domain_labels import (
    DomainLabelProblem,
    DomainNotKnown,
    HomeDomain,
    compatible_topology,
    find_home_domain,
    parse_domain_labels,
)

DRIVER = "rbd.csi.ceph.com"
SEED = "failure-domain.example.io/region;failure-domain.example.io/zone"


def a_node(**labels: str) -> Node:
    prefixed = {f"failure-domain.example.io/{name}": value for name, value in labels.items()}
    return Node(metadata=ObjectMeta(name="n1", labels=prefixed))


def test_a_node_is_where_its_labels_say() -> None:
    wanted = parse_domain_labels(SEED, driver=DRIVER, orchestrator="kubernetes")
    assert find_home_domain(wanted, a_node(region="east", zone="b"), node_name="n1") == HomeDomain(
        topology={f"topology.{DRIVER}/region": "east", f"topology.{DRIVER}/zone": "b"},
        path=("east", "b"),
    )


def test_a_node_without_the_labels_waits_and_says_for_which() -> None:
    wanted = parse_domain_labels(SEED, driver=DRIVER)
    assert find_home_domain(wanted, a_node(region="east", zone=""), node_name="n1") == (
        DomainNotKnown(
            status="Node n1 has no label failure-domain.example.io/zone; "
            "waiting until it is labelled.",
            missing=("failure-domain.example.io/zone",),
        )
    )


def test_a_segment_is_told_from_wide_to_narrow() -> None:
    wanted = parse_domain_labels("x/region;x/zone;x/rack", driver=DRIVER)
    segment = {wanted.key("rack"): "7", wanted.key("region"): "east", "other": "o"}
    assert wanted.in_order(segment) == (
        {wanted.key("region"): "east"},
        {wanted.key("rack"): "7"},
        {"other": "o"},
    )


def test_a_node_that_does_not_exist_is_waited_for() -> None:
    found = find_home_domain(parse_domain_labels(SEED, driver=DRIVER), None, node_name="n9")
    assert found == DomainNotKnown(status="There is no node n9; set the node id to its name.")


def test_without_labels_to_read_a_node_is_nowhere_in_particular() -> None:
    wanted = parse_domain_labels("", driver=DRIVER)
    assert find_home_domain(wanted, None, node_name="n1") == HomeDomain(topology={}, path=())


@pytest.mark.parametrize(
    ("text", "driver", "orchestrator", "complaint"),
    [
        pytest.param("zone", DRIVER, "nomad", "'nomad' is not known", id="orchestrator"),
        pytest.param("zone", "d" * 55, "kubernetes", "too long", id="long-driver"),
        pytest.param("a/zone;b/zone", DRIVER, "kubernetes", "would be one domain", id="same-name"),
        pytest.param("zone,zone", DRIVER, "kubernetes", "would be one domain", id="twice"),
        pytest.param("a/b/c", DRIVER, "kubernetes", "no name of a label", id="no-label"),
    ],
)
def test_a_setting_that_places_no_node_is_refused(
    text: str, driver: str, orchestrator: str, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_domain_labels(text, driver=driver, orchestrator=orchestrator)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(SEED, DomainLabelProblem.MISSING_LABELS, id="semicolons"),
        pytest.param(",", DomainLabelProblem.DUPLICATE_LABEL, id="two-empty-names"),
    ],
)
def test_ceph_csi_refuses_what_we_read(text: str, problem: DomainLabelProblem) -> None:
    node = a_node(region="east", zone="b")
    assert compatible_topology(text, driver=DRIVER, node=node) is problem
