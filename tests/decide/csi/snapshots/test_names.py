from plimsoll.decide.csi.snapshots.names import content_name, is_prepared, points_back
from tests.decide.csi.snapshots.objects import a_content, a_snapshot


def test_the_content_of_a_snapshot_is_called_after_its_uid() -> None:
    assert content_name(a_snapshot()) == "snapcontent-uid-s"


def test_a_content_points_at_one_very_snapshot() -> None:
    assert points_back(a_content(), a_snapshot())
    assert not points_back(a_content(uid="of-an-earlier-one"), a_snapshot())
    assert not points_back(a_content(uid=""), a_snapshot())


def test_a_content_with_a_snapshots_handle_was_prepared() -> None:
    assert is_prepared(a_content(prepared=True))
    assert not is_prepared(a_content())
