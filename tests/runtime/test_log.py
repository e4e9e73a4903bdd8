import json
import logging
from collections.abc import Iterator
from io import StringIO

import pytest

from plimsoll.runtime.log import LogFormat, configure_logging


@pytest.fixture(autouse=True)
def _restored_root() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def logged(form: LogFormat, message: str, **fields: object) -> str:
    out = StringIO()
    configure_logging(level="debug", form=form, stream=out)
    logging.getLogger("plimsoll.test").info(message, extra=fields)
    return out.getvalue()


def test_a_json_line_holds_the_message_and_every_field() -> None:
    line = json.loads(logged(LogFormat.JSON, "volume created", claim="default/data", bytes_=5))
    assert line["message"] == "volume created"
    assert line["level"] == "info"
    assert line["claim"] == "default/data"
    assert line["bytes_"] == 5
    assert line["time"].endswith("Z")


def test_a_console_line_reads_from_left_to_right() -> None:
    line = logged(LogFormat.CONSOLE, "volume created", claim="default/data", why="no room")
    assert line.endswith('volume created claim=default/data why="no room"\n')


@pytest.mark.parametrize("form", LogFormat)
@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"token": "s3cret-value"}, id="by-name"),
        pytest.param({"headers": {"Authorization": "s3cret-value"}}, id="nested"),
        pytest.param({"error": "401 for Bearer s3cret-value"}, id="bearer-in-text"),
        pytest.param({"items": ["Basic s3cret-value"]}, id="in-a-list"),
        pytest.param(
            {"key": "-----BEGIN PRIVATE KEY-----\ns3cret-value\n-----END PRIVATE KEY-----"},
            id="private-key",
        ),
        pytest.param({"body": b"s3cret-value"}, id="raw-bytes"),
    ],
)
def test_secrets_are_never_written(form: LogFormat, fields: dict[str, object]) -> None:
    assert "s3cret-value" not in logged(form, "request failed", **fields)


def test_an_exception_is_part_of_its_line() -> None:
    out = StringIO()
    configure_logging(form=LogFormat.JSON, stream=out)
    try:
        int("Bearer s3cret-value")
    except ValueError:
        logging.getLogger("x").exception("loop failed")
    line = json.loads(out.getvalue())
    assert "ValueError" in line["exception"]
    assert "s3cret-value" not in line["exception"]


def test_the_level_is_respected() -> None:
    out = StringIO()
    configure_logging(level="warning", stream=out)
    logging.getLogger("x").info("not shown")
    assert out.getvalue() == ""
