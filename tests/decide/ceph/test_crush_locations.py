from plimsoll.decide.ceph.crush_locations import crush_location

LABELS = ["topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack"]


def test_a_location_has_the_types_and_names_of_a_crush_map() -> None:
    node = {"topology.kubernetes.io/zone": "a", "kubernetes.io/hostname": "n1.example.org"}
    assert crush_location(LABELS, node) == {"zone": "a", "host": "n1-example-org"}


def test_labels_without_a_value_are_left_out() -> None:
    assert crush_location(LABELS, {"rack": "", "other": "x"}) == {}


def test_of_two_labels_of_one_type_the_one_named_first_counts() -> None:
    assert crush_location(["x/zone", "zone"], {"zone": "b", "x/zone": "a"}) == {"zone": "a"}
