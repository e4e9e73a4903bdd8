"""Settings of a process: defaults, then a file, then the environment, then flags, merged once.

A process declares one frozen struct that derives from Settings; its defaults are the defaults.
Files are YAML with camelCase keys, environment variables are `<PREFIX>_<FIELD>`, flags arrive by
field name. A key that the struct does not have is an error that names the known ones. Durations
are written as `1m30s`. Nothing else in the code base reads the environment.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
import yaml

from plimsoll.runtime.flags import plain_type


class Settings(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """Base of all settings."""


S = TypeVar("S", bound=Settings)


class ConfigError(ValueError):
    """Says where a setting came from, what is wrong with it and what would be right."""


def environment() -> Mapping[str, str]:
    """The environment of this process, for the few callers that must pass it on."""
    return MappingProxyType(dict(os.environ))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    file: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    """Such as `PLIMSOLL_SCHEDULER`; without a prefix the environment is not read."""
    flags: Mapping[str, Any] = field(default_factory=dict)
    """By field name; None means that the flag was not given."""


def load_settings(form: type[S], sources: Sources) -> S:
    merged: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for where, values in _layers(form, sources):
        for key, value in values.items():
            merged[key], origin[key] = value, where
    durations = _durations(form)
    readable = {
        key: _duration(value, key, origin[key]) if key in durations else value
        for key, value in merged.items()
    }
    try:
        return msgspec.convert(readable, form, strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(_explained(str(error), origin)) from error


def _layers(form: type[Settings], sources: Sources) -> list[tuple[str, Mapping[str, Any]]]:
    """(where it came from, values by encoded name), weakest first."""
    encoded = {f.name: f.encode_name for f in msgspec.structs.fields(form)}
    layers: list[tuple[str, Mapping[str, Any]]] = []
    if sources.file is not None:
        layers.append((str(sources.file), _from_file(sources.file, set(encoded.values()))))
    if sources.prefix:
        layers += _from_environment(sources, encoded)
    for name, value in sources.flags.items():
        if value is None:
            continue
        flag = f"--{name.replace('_', '-')}"
        if name not in encoded:
            raise ConfigError(f"{flag}: unknown setting; known are {_listed(encoded)}")
        layers.append((flag, {encoded[name]: value}))
    return layers


def _from_file(path: Path, known: set[str]) -> Mapping[str, Any]:
    try:
        document = yaml.safe_load(path.read_text())
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not YAML: {error}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: must hold settings by name, not a {type(document).__name__}")
    unknown = sorted(str(key) for key in document if key not in known)
    if unknown:
        raise ConfigError(
            f"{path}: unknown setting {', '.join(unknown)}; known are {_listed(known)}"
        )
    return document


def _from_environment(
    sources: Sources, encoded: Mapping[str, str]
) -> list[tuple[str, Mapping[str, Any]]]:
    known = {f"{sources.prefix}_{name.upper()}": key for name, key in encoded.items()}
    given = {
        name: value
        for name, value in sources.environment.items()
        if name.startswith(f"{sources.prefix}_") and not _is_of_service(name, value)
    }
    unknown = sorted(given.keys() - known.keys())
    if unknown:
        raise ConfigError(
            f"environment: unknown setting {', '.join(unknown)}; known are {_listed(known)}"
        )
    return [(name, {known[name]: value}) for name, value in given.items()]


OF_SERVICES = re.compile(
    r"\w+_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
ADDRESS = re.compile(r"(tcp|udp|sctp)://.+")


def _is_of_service(name: str, value: str) -> bool:
    """Whether kubelet has set it in the container because of a Service. One that is called
    `plimsoll-node-metrics` sets `PLIMSOLL_NODE_METRICS_PORT`, which is also a setting's name."""
    has_address = name.endswith("_PORT") and ADDRESS.fullmatch(value) is not None
    return has_address or OF_SERVICES.fullmatch(name) is not None


def _durations(form: type[Settings]) -> set[str]:
    types = {f.encode_name: plain_type(f.type) for f in msgspec.structs.fields(form)}
    return {name for name, kind in types.items() if kind in (timedelta, timedelta | None)}


DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")
UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}


def parse_duration(text: str) -> timedelta:
    """`90s`, `1m30s`, `1.5h`, `250ms`, `2d` or `0`."""
    parts = DURATION_PART.findall(text)
    if text != "0" and (not parts or "".join(n + u for n, u in parts) != text):
        raise ValueError(f'"{text}" is not a duration; write it like 90s, 1m30s or 250ms')
    return sum((UNITS[unit] * float(number) for number, unit in parts), timedelta())


def _duration(value: Any, key: str, where: str) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse_duration(value)
    except ValueError as error:
        raise ConfigError(f"{where}: {key}: {error}") from error


def _explained(problem: str, origin: Mapping[str, str]) -> str:
    """msgspec says `Expected int, got str - at $.port`; the reader wants to know whose port."""
    found = re.search(r"\$\.(\w+)", problem)
    where = origin.get(found.group(1), "settings") if found else "settings"
    return f"{where}: {problem.replace('`', '').replace('$.', '')}"


def _listed(names: Mapping[str, str] | set[str]) -> str:
    return ", ".join(sorted(names))


def written_duration(duration: timedelta) -> str:
    """As `parse_duration` reads it, and as short as it can be: `1m30s`."""
    left = round(duration.total_seconds() * 1000)
    parts = []
    for unit in ("d", "h", "m", "s", "ms"):
        number, left = divmod(left, round(UNITS[unit].total_seconds() * 1000))
        parts.append(f"{number}{unit}" if number else "")
    return "".join(parts) or "0"
