"""Names that other programs, and other parts of this one, must find again."""

import re

from hypothesis import given, strategies as st

from plimsoll.decide.capacity.names import leader_lease_name, managed_by, publisher_lease_name

LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
OBJECT_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
NODES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?", fullmatch=True)


def test_a_publisher_for_all_nodes_has_the_plain_id() -> None:
    assert managed_by() == "external-provisioner"


def test_the_id_of_a_node_with_a_long_name_is_shortened() -> None:
    assert managed_by("node-1") == "external-provisioner-node-1"
    assert managed_by("x" * 43) == f"external-p-53f40b57-{'x' * 43}"
    assert managed_by("x" * 53) == "external-provisioner-497e2e42"


@given(node=NODES)
def test_every_id_is_a_label(node: str) -> None:
    assert LABEL.fullmatch(managed_by(node))


def test_the_lease_of_leaders_is_the_one_that_csi_provisioner_uses() -> None:
    assert leader_lease_name("disk.example.com") == "disk-example-com"
    assert leader_lease_name("disk.") == "disk-X"


@given(driver=st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", fullmatch=True))
def test_the_lease_of_a_publisher_has_a_valid_name(driver: str) -> None:
    name = publisher_lease_name(driver, "external-provisioner")
    assert len(name) <= 253
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", name)


def test_two_publishers_never_share_a_lease() -> None:
    names = {
        publisher_lease_name("a", "b-c"),
        publisher_lease_name("a-b", "c"),
        publisher_lease_name("A", "b-c"),
        publisher_lease_name("a", managed_by("node-1")),
    }
    assert len(names) == 4
