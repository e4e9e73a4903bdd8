import pytest

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectMeta
from plimsoll.decide.ceph.domain_labels import DomainNotKnown, HomeDomain, parse_domain_labels
from plimsoll.decide.ceph.node_domain import (
    AdvertisedDomain,
    DomainReason,
    KeptDomain,
    domain_notice,
    find_advertised_domain,
)

WANTED = parse_domain_labels("x.io/region;x.io/zone", driver="d.io")
REGION, ZONE = "topology.d.io/region", "topology.d.io/zone"


def found(**labels: str) -> AdvertisedDomain:
    """Of a node; `own_zone` is what an earlier registration wrote, `zone` the label to read."""
    names = {"own_region": REGION, "own_zone": ZONE, "region": "x.io/region", "zone": "x.io/zone"}
    node = Node(metadata=ObjectMeta(name="n1", labels={names[k]: v for k, v in labels.items()}))
    return find_advertised_domain(WANTED, node, node_name="n1")


def test_a_node_that_never_registered_is_where_its_labels_say() -> None:
    assert found(region="east", zone="a") == HomeDomain(
        topology={REGION: "east", ZONE: "a"}, path=("east", "a")
    )


def test_a_registered_node_whose_labels_agree_is_there_too() -> None:
    home = found(region="east", zone="a", own_region="east", own_zone="a")
    assert isinstance(home, HomeDomain)


def test_a_registered_node_stays_until_its_topology_labels_are_removed() -> None:
    assert found(region="east", zone="b", own_region="east", own_zone="a") == KeptDomain(
        topology={REGION: "east", ZONE: "a"},
        status="Node n1 is labelled region=east,zone=b and stays in region=east,zone=a, which the"
        " driver is registered with; to move it, drain it and remove its labels"
        f" {REGION}, {ZONE}.",
    )
    assert isinstance(found(region="east", zone="b", own_region="east"), HomeDomain)


def test_a_registered_node_that_lost_a_label_stays_where_it_is() -> None:
    kept = found(region="east", own_region="east", own_zone="a")
    assert isinstance(kept, KeptDomain)
    assert "has no label x.io/zone and stays in region=east,zone=a" in kept.status


def test_a_node_without_labels_is_told_how_to_get_them() -> None:
    assert found(region="east") == DomainNotKnown(
        status="Node n1 has no label x.io/zone; waiting until it is labelled."
        " Label it: kubectl label node n1 x.io/zone=…",
        missing=("x.io/zone",),
    )


def test_a_domain_is_never_put_together_of_old_and_new_labels() -> None:
    unknown = found(region="west", zone="b", own_zone="a")
    assert isinstance(unknown, DomainNotKnown)
    assert f"remove its label {ZONE}" in unknown.status


def test_a_node_that_does_not_exist_is_waited_for() -> None:
    assert isinstance(find_advertised_domain(WANTED, None, node_name="n1"), DomainNotKnown)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ({"region": "east", "zone": "a"}, DomainReason.FOUND),
        ({"region": "east"}, DomainReason.MISSING),
        (
            {"region": "west", "zone": "a", "own_region": "east", "own_zone": "a"},
            DomainReason.DIFFER,
        ),
    ],
    ids=["found", "missing", "differing"],
)
def test_each_state_is_told_with_its_reason(labels: dict[str, str], reason: DomainReason) -> None:
    notice = domain_notice(found(**labels), node_name="n1")
    assert notice.reason is reason
    assert notice.message.startswith("Node n1 ")
