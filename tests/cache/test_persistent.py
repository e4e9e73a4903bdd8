import subprocess
import sys

from hypothesis import given, strategies as st

from plimsoll.cache.persistent import PersistentMap

KEYS = st.text(min_size=1, max_size=3)
STEPS = st.lists(st.tuples(st.booleans(), KEYS, st.integers()), max_size=200)


@given(start=st.dictionaries(KEYS, st.integers()), steps=STEPS)
def test_it_behaves_like_a_dict_and_older_versions_never_change(
    start: dict[str, int], steps: list[tuple[bool, str, int]]
) -> None:
    model = dict(start)
    map_ = PersistentMap(start)
    history = [(map_, dict(model))]
    for puts, key, value in steps:
        if puts:
            model[key] = value
            map_ = map_.with_(key, value)
        else:
            model.pop(key, None)
            map_ = map_.without(key)
        history.append((map_, dict(model)))
    for version, expected in history:
        assert dict(version) == expected
        assert len(version) == len(expected)
        assert all(version[key] == value for key, value in expected.items())
        assert version.get("no such key") is None


def test_many_entries_are_found_again() -> None:
    map_: PersistentMap[tuple[str, str], int] = PersistentMap()
    for number in range(3000):
        map_ = map_.with_(("ns", f"pod-{number}"), number)
    assert len(map_) == 3000
    assert all(map_["ns", f"pod-{n}"] == n for n in range(3000))
    assert ("ns", "pod-3000") not in map_


def test_the_order_does_not_depend_on_the_process() -> None:
    program = (
        "from plimsoll.cache.persistent import PersistentMap\n"
        "print(list(PersistentMap((f'key-{i}', i) for i in range(500))))"
    )
    orders = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(orders) == 1
