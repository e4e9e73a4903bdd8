import pytest

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.kinds.pods.volumes.defaults import default_volume


@pytest.mark.parametrize(
    ("given", "filled_in"),
    [
        pytest.param({}, {"emptyDir": {}}, id="no-source"),
        pytest.param(
            {"hostPath": {"path": "/x"}}, {"hostPath": {"path": "/x", "type": ""}}, id="h"
        ),
        pytest.param(
            {"secret": {"secretName": "s"}},
            {"secret": {"secretName": "s", "defaultMode": 0o644}},
            id="secret",
        ),
        pytest.param(
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {
                "projected": {
                    "defaultMode": 0o644,
                    "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
                }
            },
            id="token",
        ),
        pytest.param(
            {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"volumeMode": "Filesystem"}}}},
            id="ephemeral",
        ),
        pytest.param(
            {"rbd": {"image": "i", "monitors": ["m"], "pool": "own"}},
            {
                "rbd": {
                    "image": "i",
                    "monitors": ["m"],
                    "pool": "own",
                    "user": "admin",
                    "keyring": "/etc/ceph/keyring",
                }
            },
            id="rbd",
        ),
    ],
)
def test_a_volume_gets_what_it_leaves_out(given: Document, filled_in: Document) -> None:
    volume = {"name": "v"} | given

    default_volume(volume)

    assert volume == {"name": "v"} | filled_in
