from plimsoll.apiserver.model.kinds.workloads.controller_revision import RULES
from tests.apiserver.model.kinds.pods.objects import causes

REVISION = {"metadata": {"name": "r"}, "revision": 1, "data": {"a": 1}}


def test_a_revision_holds_data() -> None:
    assert not causes(RULES.validate(REVISION))
    assert causes(RULES.validate({"revision": -1})) == {
        ("Invalid", "revision"): 1,
        ("Required", "data"): 1,
    }


def test_the_data_of_a_revision_never_changes() -> None:
    assert not causes(RULES.validate_update(REVISION | {"revision": 2}, REVISION))
    assert causes(RULES.validate_update(REVISION | {"data": {}}, REVISION)) == {
        ("Invalid", "data"): 1
    }
