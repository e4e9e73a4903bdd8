"""Edits the takeover map when a domain is lost or back, as `decide.ceph.takeover.auto_takeover`
says; in a dry run it only tells."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from plimsoll.api.core import ConfigMap
from plimsoll.api.meta import ObjectKey
from plimsoll.decide.ceph.takeover.auto_takeover import (
    BACK_AFTER,
    LOST_AFTER,
    AddTakeover,
    AutoTakeoverMode,
    AutoTakeoverStep,
    AutoTakeoverView,
    EndTakeover,
    LeaveMap,
    LeaveToPeople,
    decide_auto_takeover,
    find_lost_domains,
)
from plimsoll.decide.ceph.takeover.objections import PoolCopies
from plimsoll.decide.ceph.takeover.served_labels import DomainPath
from plimsoll.decide.ceph.takeover.telling import (
    TakeoverReason,
    edit_plan,
    own_sources,
    rehearsal,
    tell_of_map,
)
from plimsoll.decide.ceph.takeover.view import TakeoverView
from plimsoll.decide.plan import NOTHING, Emit, Plan
from plimsoll.processes.controller.takeover.driver_domains import DriverDomains
from plimsoll.runtime.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoTakeoverSettings:
    mode: AutoTakeoverMode = AutoTakeoverMode.OFF
    lost_after: timedelta = LOST_AFTER
    """How long no node of a domain must have been ready."""
    back_after: timedelta = BACK_AFTER
    """How long all nodes of a domain must have been ready again."""


@dataclass(frozen=True, slots=True)
class AutoTakeover:
    settings: AutoTakeoverSettings
    place: tuple[ObjectKey, str]
    """The config map, and the entry that holds the takeover map."""
    domains: DriverDomains
    clock: Clock

    async def plan(
        self, view: TakeoverView, map_: ConfigMap | None
    ) -> tuple[Plan, tuple[Emit, ...]]:
        """What is to be written, and what is to be told unless it was told before."""
        if self.settings.mode is AutoTakeoverMode.OFF or view.map_problem:
            return NOTHING, ()
        auto = AutoTakeoverView(
            domains=view.domains,
            nodes=view.nodes,
            takeover=view.takeover,
            own=own_sources(map_),
            now=self.clock.now(),
            lost_after=self.settings.lost_after,
            back_after=self.settings.back_after,
        )
        return self._planned(decide_auto_takeover(auto, await self._copies(auto)), map_)

    async def _copies(self, view: AutoTakeoverView) -> dict[DomainPath, Collection[PoolCopies]]:
        found: dict[DomainPath, Collection[PoolCopies]] = {}
        for domain in find_lost_domains(view):
            copies = await self.domains.find_copies(domain)
            if copies is not None:
                found[domain] = copies
        return found

    def _planned(
        self, step: AutoTakeoverStep, map_: ConfigMap | None
    ) -> tuple[Plan, tuple[Emit, ...]]:
        match step:
            case LeaveMap():
                return NOTHING, ()
            case LeaveToPeople():
                return NOTHING, (self._left(step, map_),)
            case AddTakeover() | EndTakeover():
                return self._edited(step, map_)
            case _:
                assert_never(step)

    def _edited(
        self, step: AddTakeover | EndTakeover, map_: ConfigMap | None
    ) -> tuple[Plan, tuple[Emit, ...]]:
        if self.settings.mode is AutoTakeoverMode.DRY_RUN:
            is_lost = isinstance(step, AddTakeover)
            reason = TakeoverReason.LOST if is_lost else TakeoverReason.BACK
            return NOTHING, (tell_of_map(self.place[0], map_, reason, rehearsal(step)),)
        try:
            return edit_plan(self.place, map_, step), ()
        except ValueError as error:
            left = LeaveToPeople(source=step.source, why=f"{step.why} {error}.")
            return NOTHING, (self._left(left, map_),)

    def _left(self, step: LeaveToPeople, map_: ConfigMap | None) -> Emit:
        return tell_of_map(self.place[0], map_, TakeoverReason.LEFT_TO_PEOPLE, step.why)
