from plimsoll.api.selectors.complaints import label_key_complaint
from plimsoll.decide import annotations


def test_all_names_are_different_and_could_be_written() -> None:
    names = [value for name, value in vars(annotations).items() if name.isupper() and name != "YES"]
    assert len(set(names)) == len(names)
    assert [name for name in names if label_key_complaint("", name)] == []
