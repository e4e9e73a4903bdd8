from typing import Any

import pytest

from plimsoll.wire.ceph.files.metadata_servers import has_server


def dump(*servers: dict[str, str]) -> dict[str, Any]:
    info = {f"gid_{number}": server for number, server in enumerate(servers)}
    return {"filesystems": [{"mdsmap": {"fs_name": "csi", "info": info}}]}


@pytest.mark.parametrize(
    ("servers", "is_served"),
    [
        pytest.param([{"state": "up:active"}], True, id="active"),
        pytest.param([], False, id="none"),
        pytest.param([{"state": "up:replay"}], False, id="taking-over"),
        pytest.param([{"state": "up:active", "laggy_since": "x"}], False, id="not-heard-of"),
        pytest.param([{"state": "up:replay"}, {"state": "up:active"}], True, id="one-of-two"),
    ],
)
def test_a_file_system_is_served_by_an_active_server_that_is_heard_of(
    servers: list[dict[str, str]], *, is_served: bool
) -> None:
    assert has_server(dump(*servers), "csi") is is_served


def test_a_file_system_that_is_not_there_is_for_the_client_to_tell() -> None:
    assert has_server(dump(), "another")
