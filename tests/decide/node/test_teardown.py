from plimsoll.decide.csi.devices import Device
from plimsoll.decide.node.actual_state import (
    ActualState,
    PublishedPlace,
    PublishedVolume,
    StagedVolume,
)
from plimsoll.decide.node.teardown import Clean, NodeUnpublish, Unstage, next_teardown, unused

DISK = Device("disk.example.com", "a")
HERE, THERE = PublishedPlace("pod-1", "pv"), PublishedPlace("pod-2", "pv")


def shared() -> ActualState:
    return (
        ActualState()
        .with_staged(StagedVolume(device=DISK, name="pv"), sure=True)
        .with_published(PublishedVolume(place=HERE, device=DISK), sure=True)
        .with_published(PublishedVolume(place=THERE, device=DISK), sure=False)
    )


def test_a_pod_is_cleaned_when_nothing_is_published_in_it() -> None:
    actual = shared()
    step = next_teardown("pod-1", actual)
    assert isinstance(step, NodeUnpublish)
    assert step.entry.place == HERE
    left = actual.without_published(step.entry)
    assert next_teardown("pod-1", left) == Clean()
    assert next_teardown("unknown", actual) == Clean()


def test_a_device_is_unstaged_when_no_pod_uses_or_wants_it() -> None:
    actual = shared()
    assert unused(actual, []) == []
    for entry in shared().published.values():
        actual = actual.without_published(entry)
    assert unused(actual, [DISK]) == []
    assert unused(actual, []) == [Unstage(actual.staged[DISK])]


def test_what_may_have_been_published_counts_as_used() -> None:
    actual = shared()
    assert unused(actual.without_published(actual.published[HERE]), []) == []
