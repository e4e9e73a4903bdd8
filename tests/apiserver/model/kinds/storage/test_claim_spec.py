import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.storage.claim_spec import (
    claim_spec_errors,
    claim_spec_warnings,
    default_claim_spec,
)
from tests.apiserver.model.kinds.storage.objects import a_claim, causes


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"accessModes": []}, ("Required", "accessModes")),
        ({"accessModes": ["Never"]}, ("NotSupported", "accessModes")),
        ({"resources": {}}, ("Required", "resources[storage]")),
        ({"resources": {"requests": {"storage": "0"}}}, ("Invalid", "resources[storage]")),
        ({"selector": {"matchLabels": {"a": "b c"}}}, ("Invalid", "selector.matchLabels")),
        ({"storageClassName": "A_"}, ("Invalid", "storageClassName")),
        ({"volumeAttributesClassName": "A_"}, ("Invalid", "volumeAttributesClassName")),
        ({"volumeMode": ""}, ("NotSupported", "volumeMode")),
    ],
)
def test_a_wrong_field_is_refused_wherever_the_spec_is(
    fields: Document, complaint: tuple[str, str]
) -> None:
    reason, field = complaint

    assert list(causes(claim_spec_errors(a_claim(**fields)["spec"], "t.spec"))) == [
        (reason, f"t.spec.{field}")
    ]


def test_empty_class_names_mean_no_class_and_are_fine() -> None:
    spec = a_claim(storageClassName="", volumeAttributesClassName="")["spec"]

    assert not list(claim_spec_errors(spec, "spec"))


def test_a_claim_wants_a_filesystem_and_thousandths_at_most() -> None:
    spec = {"resources": {"requests": {"storage": "100n"}, "limits": {"storage": "1u"}}}

    default_claim_spec(spec)

    assert spec == {
        "resources": {"requests": {"storage": "1m"}, "limits": {"storage": "1m"}},
        "volumeMode": "Filesystem",
    }


def test_fractions_of_bytes_are_pointed_out() -> None:
    resources = {"requests": {"storage": "1500m"}, "limits": {"storage": "2"}}

    (warning,) = claim_spec_warnings({"resources": resources}, "spec")

    assert warning.startswith('spec.resources.requests[storage]: fractional byte value "1500m"')
