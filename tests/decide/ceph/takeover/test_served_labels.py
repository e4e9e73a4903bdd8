from hypothesis import given, strategies as st

from plimsoll.api.names import qualified_name_errors
from plimsoll.decide.ceph.takeover.served_labels import (
    find_path,
    is_home,
    is_served_segment,
    served_label,
    wider_paths,
)

DRIVER = "rbd.csi.ceph.com"
VALUES = st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", fullmatch=True)
PATHS = st.lists(VALUES, min_size=1, max_size=4).map(tuple)


def test_a_label_spells_the_path() -> None:
    assert served_label(DRIVER, ("b", "rack2")) == f"topology.{DRIVER}/serves.b.rack2"


def test_a_path_that_is_too_long_is_told_by_a_digest() -> None:
    label = served_label(DRIVER, ("region", "z" * 60))
    assert label == f"topology.{DRIVER}/serves..f5f1421d495bb5046c9cb34b8f513252"


@given(one=PATHS, other=PATHS)
def test_two_domains_never_share_a_label(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert (served_label(DRIVER, one) == served_label(DRIVER, other)) == (one == other)


def test_names_with_dots_are_told_apart() -> None:
    assert served_label(DRIVER, ("a.b", "c")) != served_label(DRIVER, ("a", "b.c"))


@given(path=PATHS)
def test_every_label_is_one_that_kubernetes_accepts(path: tuple[str, ...]) -> None:
    assert qualified_name_errors(served_label(DRIVER, path)) == []


def test_what_is_in_a_rack_is_in_its_zone_too() -> None:
    assert list(wider_paths(("east", "b", "r2"))) == [("east",), ("east", "b"), ("east", "b", "r2")]


def test_a_path_ends_at_the_narrowest_level_that_is_named() -> None:
    levels, here = ("region", "zone", "rack"), {"region": "east", "zone": "b", "rack": "r2"}
    assert find_path(levels, here, ["zone"]) == ("east", "b")
    assert find_path(levels, {"zone": "b"}, ["zone"]) is None
    assert find_path(levels, here, ["room"]) is None
    assert find_path(levels, here, []) is None


def test_a_node_is_at_home_in_the_domains_that_its_own_labels_spell() -> None:
    home = {"topology.d.org/zone": "b", "topology.d.org/rack": "1", "zone": "c"}
    label = {path: {served_label("d.org", path): "true"} for path in (("b",), ("b", "1"), ("c",))}
    assert is_home(label["b",], home)
    assert is_home(label["b", "1"], home)
    assert not is_home(label["c",], home)
    assert not is_home({served_label("other.org", ("b",)): "true"}, home)


def test_a_node_that_has_taken_a_domain_over_is_not_at_home_in_it() -> None:
    taken = served_label("d.org", ("b",))
    assert not is_home({taken: "true"}, {"topology.d.org/zone": "a", taken: "true"})


def test_only_labels_of_served_domains_make_a_served_segment() -> None:
    served = served_label("d.org", ("b",))
    assert is_served_segment({served: "true"})
    assert not is_served_segment({"topology.d.org/zone": "b"})
    assert not is_served_segment({served: "true", "topology.d.org/zone": "b"})
    assert not is_served_segment({})
