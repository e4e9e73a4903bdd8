from dataclasses import replace

import pytest

from plimsoll.decide.provisioning.failures import RefusalError
from plimsoll.decide.provisioning.request.names import volume_name
from tests.decide.provisioning.builders import SETTINGS, UID


@pytest.mark.parametrize(
    ("prefix", "length", "name"),
    [
        pytest.param("pvc", None, f"pvc-{UID}", id="whole-uid"),
        pytest.param("disk", 8, "disk-11111111", id="cut"),
        pytest.param("disk", 12, "disk-111111112222", id="dashes-do-not-count"),
        pytest.param("disk", 0, "disk-", id="nothing-of-it"),
        pytest.param("disk", 99, f"disk-{UID.replace('-', '')}", id="longer-than-it-is"),
    ],
)
def test_a_volume_is_named_after_its_claims_uid(prefix: str, length: int | None, name: str) -> None:
    settings = replace(SETTINGS, volume_name_prefix=prefix, volume_name_uuid_length=length)

    assert volume_name(UID, settings) == name


@pytest.mark.parametrize(("prefix", "uid"), [("", UID), ("pvc", "")])
def test_a_name_without_prefix_or_uid_is_refused(prefix: str, uid: str) -> None:
    with pytest.raises(RefusalError):
        volume_name(uid, replace(SETTINGS, volume_name_prefix=prefix))
