import pytest

from plimsoll.api.volumes import SecretReference
from plimsoll.decide.csi.snapshots.parameters import (
    SNAPSHOTTER,
    SNAPSHOTTER_LIST,
    metadata_parameters,
    parse_driver_parameters,
    parse_secret,
)
from tests.decide.csi.snapshots.objects import a_content, a_snapshot

NAME, NAMESPACE = SNAPSHOTTER.name_key, SNAPSHOTTER.namespace_key


def test_the_driver_gets_what_is_not_for_us() -> None:
    assert parse_driver_parameters({"tier": "cold", NAME: "a", NAMESPACE: "b"}) == {"tier": "cold"}
    with pytest.raises(ValueError, match=r"csi\.storage\.k8s\.io/nothing"):
        parse_driver_parameters({"csi.storage.k8s.io/nothing": "x"})


def test_the_driver_can_be_told_for_whom_it_works() -> None:
    assert metadata_parameters(a_content()) == {
        "csi.storage.k8s.io/volumesnapshot/name": "s",
        "csi.storage.k8s.io/volumesnapshot/namespace": "default",
        "csi.storage.k8s.io/volumesnapshotcontent/name": "snapcontent-uid-s",
    }


def test_a_secret_is_found_by_templates() -> None:
    parameters = {
        NAME: "${volumesnapshot.name}-${volumesnapshotcontent.name}",
        NAMESPACE: "${volumesnapshot.namespace}",
    }
    secret = parse_secret(SNAPSHOTTER, parameters, "c", a_snapshot())
    assert secret == SecretReference(name="s-c", namespace="default")
    assert parse_secret(SNAPSHOTTER_LIST, parameters, "c") is None


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        pytest.param({NAME: "a"}, "Both must be specified", id="half"),
        pytest.param({NAME: "a", NAMESPACE: ""}, "Both must be specified", id="empty"),
        pytest.param(
            {NAME: "a", NAMESPACE: "${volumesnapshot.name}"},
            "invalid tokens",
            id="namespace-chosen-by-a-user",
        ),
        pytest.param({NAME: "A", NAMESPACE: "b"}, "not a valid secret name", id="bad-name"),
        pytest.param({NAME: "a", NAMESPACE: "b.c"}, "not a valid namespace", id="bad-namespace"),
    ],
)
def test_a_misspelled_secret_is_refused(parameters: dict[str, str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_secret(SNAPSHOTTER, parameters, "c", a_snapshot())
