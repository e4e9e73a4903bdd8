from datetime import UTC, datetime

from plimsoll.apiserver.model.custom.columns import AGE, cells, column_definitions

NOW = datetime(2030, 1, 1, 1, tzinfo=UTC)
DOCUMENT = {
    "metadata": {"name": "a", "creationTimestamp": "2030-01-01T00:00:00Z"},
    "spec": {"n": 1.0, "s": "x", "b": False, "o": {"k": [1]}, "t": "nonsense"},
}


def test_cells_are_of_the_type_that_their_column_has() -> None:
    kinds = {
        "n": "integer",
        "s": "string",
        "b": "boolean",
        "o": "string",
        "t": "date",
        "x": "string",
    }
    columns = [{"name": k, "type": t, "jsonPath": f".spec.{k}"} for k, t in kinds.items()]
    shown = cells([*columns, AGE], DOCUMENT, NOW)
    assert shown == ["a", 1, "x", False, '{"k":[1]}', "<invalid>", None, "60m"]


def test_a_value_of_another_type_is_not_shown() -> None:
    columns = [{"name": "s", "type": "integer", "jsonPath": ".spec.s"}]
    assert cells(columns, DOCUMENT, NOW) == ["a", None]


def test_a_column_is_described_by_its_path_unless_it_says_more() -> None:
    plain = {"name": "N", "type": "integer", "jsonPath": ".spec.n"}
    told = column_definitions([plain, plain | {"description": "how many", "priority": 1}])
    assert [column["name"] for column in told] == ["Name", "N", "N"]
    assert told[1]["description"].endswith("(in JSONPath format): .spec.n")
    assert (told[2]["description"], told[2]["priority"]) == ("how many", 1)
