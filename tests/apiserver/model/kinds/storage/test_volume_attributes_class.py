from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.storage.volume_attributes_class import RULES
from tests.apiserver.model.kinds.storage.objects import causes


def an_attributes_class(driver: str = "d.example.com", **parameters: str) -> Document:
    return {"metadata": {"name": "gold"}, "driverName": driver, "parameters": parameters}


def test_a_class_without_parameters_changes_nothing_and_is_refused() -> None:
    assert list(causes(RULES.validate(an_attributes_class()))) == [("Required", "parameters")]


def test_driver_and_parameters_are_fixed() -> None:
    before = an_attributes_class(iops="1000")
    after = an_attributes_class("other.example.com")

    assert causes(RULES.validate_update(after, before)) == {
        ("Forbidden", "driverName"): 1,
        ("Forbidden", "parameters"): 1,
        ("Required", "parameters"): 1,
    }
