from plimsoll.decide.csi.devices import Device
from plimsoll.decide.node.actual_state import (
    EPHEMERAL,
    ActualState,
    PublishedPlace,
    PublishedVolume,
    StagedVolume,
)

DISK = Device("disk.example.com", "a")
PLACE = PublishedPlace("pod-1", "volume-a")


def test_entries_are_unsure_until_they_are_carried_out() -> None:
    entry = PublishedVolume(place=PLACE, device=DISK)
    begun = ActualState().with_published(entry, sure=False)
    assert not begun.published[PLACE].sure
    assert begun.with_published(entry, sure=True).published[PLACE].sure
    assert begun.without_published(entry) == ActualState()


def test_devices_are_what_is_staged_or_published_but_not_inline() -> None:
    inline = PublishedVolume(
        place=PublishedPlace("pod-1", "scratch"), device=Device("x", "csi-1"), lifecycle=EPHEMERAL
    )
    other = StagedVolume(device=Device("disk.example.com", "b"), name="volume-b")
    actual = (
        ActualState()
        .with_published(PublishedVolume(place=PLACE, device=DISK), sure=False)
        .with_published(inline, sure=True)
        .with_staged(other, sure=True)
    )
    assert actual.devices == {DISK, other.device}
    assert actual.pods == {"pod-1"}
    assert list(actual.users(DISK)) == [PLACE]
    assert actual.without_staged(other).devices == {DISK}
