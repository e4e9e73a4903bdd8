from plimsoll.apiserver.model.kinds.repetition import repeated


def test_what_was_there_before_is_found_in_any_order_of_its_fields() -> None:
    elements = [{"a": 1, "b": 2}, {"a": 1}, {"b": 2, "a": 1}, {"a": 1}]

    assert list(repeated(elements)) == [(2, {"b": 2, "a": 1}), (3, {"a": 1})]
