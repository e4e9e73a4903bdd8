from plimsoll.decide.ceph.journal.operations import PROBLEMS, RadosProblem


def test_every_problem_of_rados_is_one_of_the_journal() -> None:
    assert set(PROBLEMS) == set(RadosProblem)
