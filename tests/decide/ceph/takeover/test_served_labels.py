from hypothesis import given, strategies as st

from plimsoll.api.names import qualified_name_errors
from plimsoll.decide.ceph.takeover.served_labels import find_path, served_label, wider_paths

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
