"""Keeps a store equal to the server's objects of one kind.

The shell around `watch.step`: it carries out what the states ask for and feeds back what happened.
Handlers get every change, in order; they must neither wait nor fail: put the key in a work queue.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar, assert_never

from plimsoll.api.meta import ApiObject
from plimsoll.api.registry import Document
from plimsoll.cache.store import Sink, StoreChange
from plimsoll.cache.watch import (
    Action,
    Input,
    ListFailed,
    ListStep,
    Put,
    RelistDue,
    RemoveObject,
    Replace,
    State,
    StreamEnded,
    StreamFailed,
    Streaming,
    WaitOver,
    Watching,
    WatchWaiting,
    step,
)
from plimsoll.runtime.backoff import Backoff
from plimsoll.runtime.clock import NO_TIME
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import Kind
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.parameters import EVERYTHING, Paging, Selection, WatchFrom

log = logging.getLogger(__name__)

T = TypeVar("T", bound=ApiObject | Document)

RELIST_BACKOFF = Backoff(first=timedelta(milliseconds=800), limit=timedelta(seconds=30))

LEFT = (ListStep, WatchWaiting)
"""States in which nothing is watched."""

Handler = Callable[[StoreChange[T]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class InformerSettings:
    page_size: int = 500
    streams_initial_state: bool = False
    """Ask for the present state as events instead of a list, where the server can."""
    watch_timeout: timedelta = timedelta(minutes=5)
    """The server ends a watch after this time, more or less."""
    silence_margin: timedelta = timedelta(seconds=30)
    """A watch that is still open this long after its time is taken for dead."""
    relist_after: timedelta = timedelta(hours=1)
    """Check against a full list this often, in case an event was lost."""
    backoff: Backoff = RELIST_BACKOFF


DEFAULTS = InformerSettings()


class Informer(Generic[T]):
    def __init__(
        self,
        client: KubeClient,
        kind: Kind[T],
        sink: Sink[T],
        *,
        selection: Selection = EVERYTHING,
        settings: InformerSettings = DEFAULTS,
    ) -> None:
        self._client = client
        self._kind = kind
        self._sink = sink
        self._clock = client.clock
        self._chance = client.chance
        self._selection = selection
        self._settings = settings
        self._handlers: list[Handler[T]] = []
        self._synced = asyncio.Event()
        self._listed_at = self._clock.monotonic()
        self._heard_at = self._clock.monotonic()
        self._last_trouble = ""
        self.listed_version = ""
        """Of the last full list. While it stays the same, handlers have missed nothing since: what
        came and went between a watch that ended and a new list is in neither."""
        self.position = ""
        """Everything up to this version has been told to the handlers."""

    @property
    def has_synced(self) -> bool:
        """True once the store has held everything that the server had at some moment."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        await self._synced.wait()

    @property
    def silence(self) -> timedelta:
        """For how long the server has said nothing at all."""
        return timedelta(seconds=self._clock.monotonic() - self._heard_at)

    def on_change(self, handler: Handler[T]) -> None:
        self._handlers.append(handler)

    async def run(self) -> None:
        """Never returns; cancel it."""
        state: State[T] = Streaming() if self._settings.streams_initial_state else ListStep()
        while True:
            match state:
                case ListStep():
                    state = self._take(state, await self._page(state))
                case Streaming() | Watching():
                    state = await self._follow(state)
                case WatchWaiting():
                    await self._pause(state)
                    state = self._take(state, WaitOver())
                case _:
                    assert_never(state)

    def _take(self, state: State[T], happened: Input[T]) -> State[T]:
        state, actions = step(state, happened)
        for action in actions:
            if isinstance(action, Replace):
                self.listed_version = state.begun_at if isinstance(state, Watching) else ""
            self._carry_out(action)
        if isinstance(state, Watching):
            self.position = state.position
        return state

    def _carry_out(self, action: Action[T]) -> None:
        match action:
            case Put(key=key, object=object_):
                self._tell(self._sink.put(key, object_))
            case RemoveObject(key=key, version=version):
                self._tell(self._sink.remove(key, version))
            case Replace(objects=objects):
                self._listed_at = self._clock.monotonic()
                for change in self._sink.replace(objects):
                    self._tell(change)
                self._synced.set()
            case _:
                assert_never(action)

    def _tell(self, change: StoreChange[T] | None) -> None:
        if change is not None:
            for handler in self._handlers:
                handler(change)

    async def _page(self, state: ListStep[T]) -> Input[T]:
        limit = 0 if state.in_one_page else self._settings.page_size
        paging = Paging(limit=limit, continue_=state.continue_)
        try:
            page = await self._client.list_page(self._kind, self._selection, paging)
        except KubeError as error:
            return ListFailed(error)
        self._heard_at = self._clock.monotonic()
        return page

    async def _follow(self, state: Streaming[T] | Watching) -> State[T]:
        """Watch until the state asks for something else, or the watch ends."""
        now: State[T] = state
        limit = self._settings.watch_timeout + self._settings.silence_margin
        try:
            async with (
                self._clock.timeout(limit),
                self._client.watch(self._kind, self._start(state), self._selection) as events,
            ):
                async for event in events:
                    self._heard_at = self._clock.monotonic()
                    now = self._take(now, event)
                    if isinstance(now, LEFT):
                        return now
        except TimeoutError:
            silent = KubeError(Failure.UNKNOWN_OUTCOME, "the watch fell silent", operation="watch")
            return self._take(now, StreamFailed(silent))
        except KubeError as error:
            return self._take(now, StreamFailed(error))
        return self._take(now, RelistDue() if self._is_relist_due() else StreamEnded())

    def _start(self, state: Streaming[T] | Watching) -> WatchFrom:
        timeout = self._settings.watch_timeout * self._chance.uniform(0.8, 1.0)
        if isinstance(state, Streaming):
            return WatchFrom(resource_version="", sends_initial_events=True, timeout=timeout)
        return WatchFrom(resource_version=state.begun_at, timeout=timeout)

    def _is_relist_due(self) -> bool:
        age = self._clock.monotonic() - self._listed_at
        return age >= self._settings.relist_after.total_seconds()

    async def _pause(self, state: WatchWaiting[T]) -> None:
        delay = self._settings.backoff.delay(state.failures, self._chance)
        delay = max(delay, state.at_least or NO_TIME)
        # A server that stays away is logged once, not for every attempt.
        is_news = state.why != self._last_trouble
        self._last_trouble = state.why
        log.log(
            logging.WARNING if is_news else logging.DEBUG,
            "watch interrupted",
            extra={
                "resource": self._kind.resource.plural,
                "why": state.why,
                "retry_seconds": round(delay.total_seconds(), 3),
            },
        )
        await self._clock.sleep(delay)
