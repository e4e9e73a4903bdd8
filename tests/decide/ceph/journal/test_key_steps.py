from plimsoll.decide.ceph.journal.key_steps import read_keys, remove_keys, set_keys
from plimsoll.decide.ceph.journal.operations import JournalProblem, RadosObject
from tests.decide.ceph.journal.rados_table import RadosTable

POOL = "journal"
OBJECT = RadosObject(pool=POOL, name="csi.volumes.default")
ELSEWHERE = RadosObject(pool="gone", name="csi.volumes.default")


def test_an_object_that_does_not_exist_has_no_keys() -> None:
    table = RadosTable({POOL: 1})
    assert table.run(read_keys(OBJECT, "a")) == {}
    assert table.run(remove_keys(OBJECT, "a")) is None
    assert not any(table.objects.values())


def test_keys_are_read_by_name_or_by_what_they_begin_with() -> None:
    table = RadosTable({POOL: 1})
    assert table.run(set_keys(OBJECT, {"a.1": "x", "a.2": "y", "b.1": "z"})) is None
    assert table.run(read_keys(OBJECT, "a.1", "b.1", "c")) == {"a.1": "x", "b.1": "z"}
    assert table.run(read_keys(OBJECT, prefix="a.")) == {"a.1": "x", "a.2": "y"}


def test_nothing_is_set_or_removed_where_a_key_is_not_as_expected() -> None:
    table = RadosTable({POOL: 1})
    assert table.run(set_keys(OBJECT, {"a": "1", "b": "1"}, expected={"a": ""})) is None
    late = set_keys(OBJECT, {"a": "2"}, expected={"a": ""}, removed=("b",))
    assert table.run(late) is JournalProblem.CHANGED
    assert table.run(set_keys(OBJECT, {"a": "2"}, expected={"a": "1"}, removed=("b",))) is None
    assert table.run(read_keys(OBJECT, "a", "b")) == {"a": "2"}


def test_removed_keys_are_gone_and_others_stay() -> None:
    table = RadosTable({POOL: 1})
    table.run(set_keys(OBJECT, {"a.1": "1", "a.2": "1", "a.3": "1"}))
    assert table.run(remove_keys(OBJECT, "a.1", "a.2", "a.4")) is None
    assert table.run(read_keys(OBJECT, prefix="a.")) == {"a.3": "1"}


def test_what_cannot_be_done_is_a_problem() -> None:
    table = RadosTable({POOL: 1}, down={POOL})
    for object_, problem in (
        (OBJECT, JournalProblem.IO_ERROR),
        (ELSEWHERE, JournalProblem.POOL_NOT_FOUND),
    ):
        assert table.run(read_keys(object_, "a")) is problem
        assert table.run(set_keys(object_, {"a": "1"})) is problem
        assert table.run(remove_keys(object_, "a")) is problem
