import pytest

from plimsoll.decide.ceph.label_names import compatible_labels, short_name, split_labels


@pytest.mark.parametrize(
    ("label", "name"),
    [("topology.kubernetes.io/zone", "zone"), ("zone", "zone"), ("a/b/c", "b/c"), ("a/", "")],
)
def test_a_short_name_follows_the_first_slash(label: str, name: str) -> None:
    assert short_name(label) == name


def test_labels_are_separated_by_commas_or_semicolons() -> None:
    assert split_labels(" a/region; a/zone ,rack;") == ["a/region", "a/zone", "rack"]
    assert split_labels("") == []


def test_ceph_csi_knows_commas_only() -> None:
    assert compatible_labels("a/region; a/zone,rack,") == ["a/region; a/zone", "rack", ""]
