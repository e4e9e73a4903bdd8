"""Logs for operators: one line per record, facts in fields, never a secret.

Fields are given with `extra`. As JSON every line is one object; on a console the fields follow
the message as `name=value`.
"""

import logging
import re
import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TextIO

import msgspec


class LogFormat(StrEnum):
    JSON = "json"
    CONSOLE = "console"


TALKATIVE = ("asyncio", "grpc")
"""Libraries whose debug messages are of no use for debugging Plimsoll."""
HIDDEN = "[hidden]"
SECRET_NAME = re.compile(r"token|password|passwd|secret_data|authorization|private_key|credential")
SECRET_TEXT = re.compile(
    r"(?i:\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
    r"|\beyJ[\w-]{10,}\.[\w-]+\.[\w-]*",  # a JSON web token, such as service accounts have
    re.DOTALL,
)

# What every record has; everything else came with `extra`.
STANDARD_FIELDS = frozenset(
    logging.LogRecord("", 0, "", 0, "", None, None).__dict__.keys()
    | {"message", "asctime", "taskName"}
)


def without_secrets(text: str) -> str:
    return SECRET_TEXT.sub(HIDDEN, text)


def fields(record: logging.LogRecord) -> dict[str, Any]:
    return {
        name: _shown(name, value)
        for name, value in record.__dict__.items()
        if name not in STANDARD_FIELDS
    }


def _shown(name: str, value: Any) -> Any:
    if SECRET_NAME.search(name.lower()):
        return HIDDEN
    match value:
        case bool() | int() | float() | None:
            return value
        case bytes():
            return f"{len(value)} bytes"
        case list() | tuple() | set() | frozenset():
            return [_shown("", item) for item in value]
        case dict():
            return {str(key): _shown(str(key), item) for key, item in value.items()}
        case _:
            return without_secrets(str(value))


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_secrets(record.getMessage()),
        }
        line |= {name: value for name, value in fields(record).items() if name not in line}
        if record.exc_info:
            line["exception"] = without_secrets(self.formatException(record.exc_info))
        return msgspec.json.encode(line).decode()


class ConsoleFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        facts = "".join(f" {name}={_quoted(value)}" for name, value in fields(record).items())
        message = without_secrets(record.getMessage())
        line = f"{_time(record)} {record.levelname:<7} {message}{facts}"
        if record.exc_info:
            line += "\n" + without_secrets(self.formatException(record.exc_info))
        return line


FORMATTERS = {LogFormat.JSON: JsonFormatter, LogFormat.CONSOLE: ConsoleFormatter}


def configure_logging(
    *, level: str = "info", form: LogFormat = LogFormat.CONSOLE, stream: TextIO | None = None
) -> None:
    """Send all logs of this process to one place (stderr unless told otherwise)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(FORMATTERS[form]())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _quoted(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    needs_quotes = not text or any(c.isspace() or c in '"=' for c in text)
    return msgspec.json.encode(text).decode() if needs_quotes else text
