"""Probes of a container, and what it does when it starts and stops."""

import re
from collections.abc import Callable, Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.values import (
    not_negative,
    one_of,
    port_number,
    port_number_or_name,
    required,
)

HTTP_HEADER = re.compile(r"[-A-Za-z0-9]+")
PROBE_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
LIFECYCLE_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")
COUNTS = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
SINGLE_SUCCESS = ("livenessProbe", "startupProbe")
WINDOWS_SIGNALS = ("SIGKILL", "SIGTERM")
LINUX_SIGNALS = (
    "SIGABRT",
    "SIGALRM",
    "SIGBUS",
    "SIGCHLD",
    "SIGCLD",
    "SIGCONT",
    "SIGFPE",
    "SIGHUP",
    "SIGILL",
    "SIGINT",
    "SIGIO",
    "SIGIOT",
    "SIGKILL",
    "SIGPIPE",
    "SIGPOLL",
    "SIGPROF",
    "SIGPWR",
    "SIGQUIT",
    "SIGSEGV",
    "SIGSTKFLT",
    "SIGSTOP",
    "SIGSYS",
    "SIGTERM",
    "SIGTRAP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGUSR1",
    "SIGUSR2",
    "SIGVTALRM",
    "SIGWINCH",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGRTMIN",
    "SIGRTMAX",
    *(f"SIGRTMIN+{n}" for n in range(1, 16)),
    *(f"SIGRTMAX-{n}" for n in range(1, 15)),
)


def probe_errors(container: Document, path: str, spec: Document) -> Iterator[FieldError]:
    """Probes and lifecycle of a container that keeps running. `spec` is the pod's."""
    if "lifecycle" in container:
        yield from _lifecycle_errors(container["lifecycle"], f"{path}.lifecycle", spec)
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if name in container:
            yield from _probe_errors(container[name], f"{path}.{name}", spec)
            yield from _purpose_errors(name, container[name], f"{path}.{name}")


def _probe_errors(probe: Document, path: str, spec: Document) -> Iterator[FieldError]:
    yield from _handler_errors(probe, PROBE_HANDLERS, path, spec)
    for name in COUNTS:
        yield from not_negative(probe.get(name, 0), f"{path}.{name}")
    if probe.get("terminationGracePeriodSeconds", 1) <= 0:
        yield FieldError.invalid(
            f"{path}.terminationGracePeriodSeconds",
            probe["terminationGracePeriodSeconds"],
            "must be greater than 0",
        )


def _purpose_errors(name: str, probe: Document, path: str) -> Iterator[FieldError]:
    threshold = probe.get("successThreshold", 0)
    if name in SINGLE_SUCCESS and threshold != 1:
        yield FieldError.invalid(f"{path}.successThreshold", threshold, "must be 1")
    if name == "readinessProbe" and "terminationGracePeriodSeconds" in probe:
        yield FieldError.invalid(
            f"{path}.terminationGracePeriodSeconds",
            probe["terminationGracePeriodSeconds"],
            "must not be set for readinessProbes",
        )


def _lifecycle_errors(lifecycle: Document, path: str, spec: Document) -> Iterator[FieldError]:
    for name in ("postStart", "preStop"):
        if name in lifecycle:
            yield from _handler_errors(lifecycle[name], LIFECYCLE_HANDLERS, f"{path}.{name}", spec)
    if "stopSignal" in lifecycle:
        yield from _signal_errors(lifecycle["stopSignal"], f"{path}.stopSignal", spec)


def _signal_errors(signal: str, path: str, spec: Document) -> Iterator[FieldError]:
    match (spec.get("os") or {}).get("name"):
        case "windows":
            yield from one_of(signal, path, WINDOWS_SIGNALS)
        case "linux":
            yield from one_of(signal, path, LINUX_SIGNALS)
        case None:
            yield FieldError.forbidden(path, "may not be set with empty `spec.os.name`")
        case _:
            pass  # The name itself is refused elsewhere.


def _handler_errors(
    handler: Document, known: tuple[str, ...], path: str, spec: Document
) -> Iterator[FieldError]:
    given = [name for name in known if name in handler]
    if not given:
        yield FieldError.required(path, "must specify a handler type")
        return
    first, *others = given
    yield from _ACTIONS[first](handler[first], f"{path}.{first}", spec)
    for other in others:
        yield FieldError.forbidden(f"{path}.{other}", "may not specify more than 1 handler type")


def _exec(action: Document, path: str, _spec: Document) -> Iterator[FieldError]:
    yield from required(action.get("command"), f"{path}.command")


def _http_get(action: Document, path: str, _spec: Document) -> Iterator[FieldError]:
    yield from required(action.get("path"), f"{path}.path")
    yield from port_number_or_name(action.get("port", 0), f"{path}.port")
    yield from one_of(action.get("scheme", ""), f"{path}.scheme", ("HTTP", "HTTPS"))
    for header in action.get("httpHeaders") or []:
        name = header.get("name", "")
        if not HTTP_HEADER.fullmatch(name):
            yield FieldError.invalid(
                f"{path}.httpHeaders", name, "must consist of alphanumeric characters or '-'"
            )


def _tcp_socket(action: Document, path: str, _spec: Document) -> Iterator[FieldError]:
    yield from port_number_or_name(action.get("port", 0), f"{path}.port")


def _grpc(action: Document, path: str, _spec: Document) -> Iterator[FieldError]:
    yield from port_number(action.get("port", 0), f"{path}.port")


def _sleep(action: Document, path: str, spec: Document) -> Iterator[FieldError]:
    seconds = action.get("seconds", 0)
    longest = spec.get("terminationGracePeriodSeconds")
    if longest is not None and not 0 <= seconds <= longest:
        yield FieldError.invalid(
            path, seconds, f"must be between 0 and terminationGracePeriodSeconds ({longest})"
        )


_ACTIONS: dict[str, Callable[[Document, str, Document], Iterator[FieldError]]] = {
    "exec": _exec,
    "httpGet": _http_get,
    "tcpSocket": _tcp_socket,
    "grpc": _grpc,
    "sleep": _sleep,
}
