"""No word of a command is what a user wrote; see also the real runs in `test_backend`."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from plimsoll.processes.driver.backends.lvm.commands import Lvm, NewVolume
from plimsoll.processes.driver.backends.lvm.layouts import LvmArrangement, LvmShape
from plimsoll.processes.driver.backends.lvm.tags import escaped, tags_of

LINEAR = LvmShape(arrangement=LvmArrangement.LINEAR)


def an_lvm(
    *,
    group: str = "data",
    disks: tuple[str, ...] = (),
    state_dir: Path = Path("/var/lib/plimsoll"),
    has_device_mapper: bool = True,
) -> Lvm:
    return Lvm(
        group=group,
        disks=disks,
        state_dir=state_dir,
        has_device_mapper=has_device_mapper,
        has_udev=True,
    )


def a_new_volume(*, shape: LvmShape = LINEAR, name: str = "pvc-1") -> NewVolume:
    marks = tags_of("lvm-1", owner="me", name=name)
    return NewVolume(name="lvm-1", shape=shape, extents=6, tags=marks, ranges=("/dev/sdx:0-5",))


def pairs(argv: list[str]) -> set[tuple[str, str]]:
    return set(itertools.pairwise(argv))


@given(st.text(max_size=200))
def test_a_name_that_a_user_chose_appears_nowhere_but_escaped_in_a_tag(name: str) -> None:
    usual = an_lvm().make_volume(a_new_volume(name=""))
    argv = an_lvm().make_volume(a_new_volume(name=name))
    differing = {word for word, other in zip(argv, usual, strict=True) if word != other}
    assert differing <= {f"plimsoll.name={escaped(name)}"}


@pytest.mark.parametrize("name", ["-f", "--config", "x y", "other/volume"])
def test_only_ids_of_ours_are_named_in_commands(name: str) -> None:
    lvm = an_lvm()
    for command in (lvm.remove, lvm.activate, lvm.deactivate, lvm.finish):
        with pytest.raises(ValueError, match="no id of ours"):
            command(name)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (LINEAR, {("--type", "linear")}),
        (
            LvmShape(arrangement=LvmArrangement.STRIPED, stripes=3),
            {("--type", "striped"), ("--stripes", "3")},
        ),
        (LvmShape(arrangement=LvmArrangement.MIRRORED), {("--type", "raid1"), ("--mirrors", "1")}),
    ],
)
def test_each_layout_is_a_type_of_lvm(shape: LvmShape, words: set[tuple[str, str]]) -> None:
    assert words <= pairs(an_lvm().make_volume(a_new_volume(shape=shape)))


def test_a_volume_is_wiped_where_that_is_possible() -> None:
    wiped = {("--zero", "y"), ("--wipesignatures", "y"), ("--activate", "y")}
    assert wiped <= pairs(an_lvm().make_volume(a_new_volume()))


def test_nothing_is_asked_of_a_kernel_without_device_mapper() -> None:
    argv = an_lvm(has_device_mapper=False).make_volume(a_new_volume())
    quiet = {("--zero", "n"), ("--wipesignatures", "n"), ("--activate", "n")}
    assert {*quiet, ("--driverloaded", "n")} <= pairs(argv)


def test_with_disks_given_lvm_looks_at_no_others() -> None:
    (configuration,) = [word for word in an_lvm(disks=("/dev/sdx",)).report() if "backup/" in word]
    assert 'devices/global_filter=["a|^/dev/sdx$|","r|.*|"]' in configuration


def test_a_disk_with_something_on_it_is_not_overwritten_to_make_a_group() -> None:
    assert not {"--yes", "--force"} & set(an_lvm(disks=("/dev/sdx",)).make_group(4194304))


@pytest.mark.parametrize("group", ["", "-x", "a b", "a/b", ".", "..", 'a"b', "@tag"])
def test_what_is_no_name_of_a_group_is_refused(group: str) -> None:
    with pytest.raises(ValueError, match="no name of a volume group"):
        an_lvm(group=group)


@pytest.mark.parametrize("disk", ["", "sdx", "/etc/passwd", "/dev/a|b", '/dev/a"', "/dev/a b"])
def test_what_is_no_device_is_refused(disk: str) -> None:
    with pytest.raises(ValueError, match="no path of a device"):
        an_lvm(disks=(disk,))


def test_a_directory_that_cannot_be_quoted_is_refused() -> None:
    with pytest.raises(ValueError, match="characters"):
        an_lvm(state_dir=Path('/var/"lib'))
