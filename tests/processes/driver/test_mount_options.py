import pytest

from plimsoll.processes.driver.mount_options import ALLOWED, BIND, find_problem, parse_options


@pytest.mark.parametrize(
    ("mounted_as", "option"),
    [
        pytest.param("ext4", "noatime", id="of-every-mount"),
        pytest.param("ext4", "data=ordered", id="one-of-several-values"),
        pytest.param("ext4", "barrier", id="a-value-that-may-be-left-out"),
        pytest.param("ext4", "barrier=0", id="a-value-that-may-be-given"),
        pytest.param("xfs", "logbsize=256k", id="a-size"),
        pytest.param("xfs", "nouuid", id="of-xfs"),
        pytest.param("btrfs", "compress=zstd:3", id="of-btrfs"),
        pytest.param(BIND, "ro", id="of-a-directory"),
    ],
)
def test_ordinary_options_are_allowed(mounted_as: str, option: str) -> None:
    assert find_problem([option], mounted_as) == ""


@pytest.mark.parametrize("mounted_as", ALLOWED)
@pytest.mark.parametrize(
    "option",
    [
        *("loop", "loop=/dev/loop7", "offset=0", "sizelimit=1", "bind", "rbind", "remount", "move"),
        *("device=/dev/sda", "degraded", "subvol=x", "subvolid=5", "errors=panic", "discard"),
        *("uid=0", "context=x", "helper=x", "user", "x-mount.mkdir", "journal_path=/dev/sda"),
        *("", "ro=", "noatime=1", "commit=-1", "commit=5;", "commit=٣", "commit=9999999999"),
        *("ro\nloop", "\0", "NOATIME"),
    ],
)
def test_what_is_not_listed_is_refused_by_name(mounted_as: str, option: str) -> None:
    problem = find_problem(["noatime", option], mounted_as)
    assert f"mount option {option!r} is not allowed" in problem
    assert "noatime" in problem.partition("allowed are")[2]


def test_options_in_one_text_are_judged_one_by_one() -> None:
    assert parse_options(["noatime,loop", "ro"]) == ("noatime", "loop", "ro")


def test_read_only_and_writable_at_once_is_refused() -> None:
    assert "contradict" in find_problem(["rw", "ro"], "ext4")


def test_a_volume_may_have_more_than_its_file_system() -> None:
    assert find_problem(["discard"], "ext4", also=["discard"]) == ""
