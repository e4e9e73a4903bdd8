"""The other end of the socket: a driver, or another server that answers gRPC calls on a node.

A service is a table of handlers, bytes in and bytes out, which the in-process transport takes as
well (`inprocess`): a driver does not know over which of the two it is called. A handler refuses
with CsiStatusError. Anything else it raises is a bug: the log gets it, the caller is told no more
than that, because the text could hold a secret.
"""

import asyncio
import logging
import os
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import NoReturn, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message
from grpc import StatusCode

from plimsoll.runtime.clock import Clock
from plimsoll.wire.csi.errors import CsiStatusError
from plimsoll.wire.csi.inprocess import Handler
from plimsoll.wire.csi.methods import Method
from plimsoll.wire.csi.transport import Metadata, text_metadata

log = logging.getLogger(__name__)

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)

SCHEME = "unix://"
GRACE_SECONDS = 2.0
LOOK_AGAIN = timedelta(seconds=5)


class EndpointError(Exception):
    """The endpoint is not one, or cannot be listened on."""


def answering(
    method: Method[Request, Response], answer: Callable[[Request], Awaitable[Response]]
) -> tuple[str, Handler]:
    """One entry of a table of handlers: `dict([answering(M.PROBE, self.probe), …])`."""
    return answering_with_metadata(method, lambda request, _: answer(request))


def answering_with_metadata(
    method: Method[Request, Response], answer: Callable[[Request, Metadata], Awaitable[Response]]
) -> tuple[str, Handler]:
    """The same for a call whose metadata matters."""

    async def handler(raw: bytes, metadata: Metadata) -> bytes:
        try:
            request = method.request.FromString(raw)
        except DecodeError as error:
            reason = f"{method.call}: the request cannot be read"
            raise CsiStatusError(StatusCode.INVALID_ARGUMENT, reason) from error
        return (await answer(request, metadata)).SerializeToString()

    return method.name, handler


def socket_path(endpoint: str) -> Path:
    """`unix:///run/csi.sock`, `unix:/run/csi.sock` and `/run/csi.sock` mean the same.

    Raises EndpointError for anything else: only sockets are ever listened on.
    """
    path = Path(endpoint.removeprefix(SCHEME).removeprefix("unix:"))
    if not path.is_absolute():
        raise EndpointError(f"endpoint {endpoint!r}: use unix:///path/of/the/socket")
    # The kernel's limit; gRPC's own message for it names neither the path nor the limit.
    if len(os.fsencode(path)) > 107:  # noqa: PLR2004 - sun_path without its final zero
        raise EndpointError(f"endpoint {endpoint!r}: longer than the 107 bytes a socket may have")
    return path


class _Calls(grpc.GenericRpcHandler):
    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            name: grpc.unary_unary_rpc_method_handler(_guarded(name, handler))
            for name, handler in handlers.items()
        }

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> "grpc.RpcMethodHandler[bytes, bytes] | None":
        return self._handlers.get(handler_call_details.method)


def _guarded(
    name: str, handler: Handler
) -> Callable[[bytes, "grpc.aio.ServicerContext[bytes, bytes]"], Awaitable[bytes]]:
    async def call(request: bytes, context: "grpc.aio.ServicerContext[bytes, bytes]") -> bytes:
        try:
            return await handler(request, text_metadata(context.invocation_metadata()))
        except CsiStatusError as refusal:
            told = tuple(refusal.metadata.items())
            await context.abort(refusal.code, refusal.detail, told)
        except Exception:  # a bug must not end up as a text on the wire
            log.exception("call failed", extra={"method": name})
            await context.abort(StatusCode.INTERNAL, "unexpected error, see the driver's log")

    return call


@asynccontextmanager
async def listening(endpoint: str, handlers: Mapping[str, Handler]) -> AsyncIterator[None]:
    """Answer calls on a unix socket until the block ends; calls under way may then finish.

    A socket left by a process that was killed is replaced; one that a server answers on is not.
    Raises EndpointError.
    """
    path = socket_path(endpoint)
    await _make_free(path)
    server = grpc.aio.server(options=(("grpc.max_receive_message_length", -1),))
    server.add_generic_rpc_handlers((_Calls(handlers),))
    try:
        server.add_insecure_port(f"unix:{path}")
        # Every user who may connect may delete volumes.
        path.chmod(stat.S_IRUSR | stat.S_IWUSR)
        await server.start()
    except (RuntimeError, OSError) as error:
        raise EndpointError(f"endpoint {endpoint!r}: cannot be listened on: {error}") from error
    try:
        yield
    finally:
        await server.stop(GRACE_SECONDS)
        path.unlink(missing_ok=True)


async def fail_when_removed(endpoints: Iterable[str], clock: Clock) -> NoReturn:
    """Raise EndpointError when another program has removed or replaced one of these sockets.

    Connections from before go on, so that the server itself would never notice that no other
    program can connect any more.
    """
    ours = {path: _file_at(path) for path in map(socket_path, endpoints)}
    while True:
        await clock.sleep(LOOK_AGAIN)
        for path, before in ours.items():
            if _file_at(path) != before:
                raise EndpointError(f"endpoint {path}: the socket was removed; start again")


def _file_at(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


async def _make_free(path: Path) -> None:
    if not _leaves_a_socket(path):
        return
    try:
        _, writer = await asyncio.open_unix_connection(str(path))
    except OSError:
        os.unlink(path)  # noqa: PTH108 - one system call on a socket without an owner
        return
    writer.close()
    raise EndpointError(f"endpoint {path}: another process answers there already")


def _leaves_a_socket(path: Path) -> bool:
    """Whether there is one already, its directory being there in any case."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        found = path.lstat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise EndpointError(f"endpoint {path}: {error.strerror}") from error
    if not stat.S_ISSOCK(found.st_mode):
        raise EndpointError(f"endpoint {path}: there is something else than a socket")
    return True
