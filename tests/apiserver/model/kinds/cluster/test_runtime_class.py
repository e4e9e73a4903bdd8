from collections import Counter

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.cluster.runtime_class import RULES
from tests.apiserver.model.kinds.complaints import complaints


def test_a_runtime_class_names_its_handler() -> None:
    assert complaints(RULES.validate({"metadata": {}})) == Counter([("Required", "handler")])
    assert complaints(RULES.validate({"metadata": {}, "handler": "A b"})) == Counter(
        [("Invalid", "handler")]
    )


def test_the_overhead_is_an_amount_of_what_containers_use() -> None:
    runtime: Document = {"metadata": {}, "handler": "h", "overhead": {"podFixed": {"cpu": "-1"}}}

    assert complaints(RULES.validate(runtime)) == Counter([("Invalid", "overhead.limits[cpu]")])


def test_the_handler_never_changes() -> None:
    found = complaints(RULES.validate_update({"handler": "b"}, {"handler": "a"}))

    assert found == Counter([("Invalid", "handler")])
