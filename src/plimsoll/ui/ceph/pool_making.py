"""Carries out `plimsoll ceph make-pools`: reads the cluster, decides, and does one step at a time.

After each step that failed or was interrupted the command can be given again: it goes on. The CRUSH
map is written on the version that was decided about; if another administrator changed it meanwhile,
everything is read and decided anew.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from plimsoll.decide.ceph.constrained_pools import PARAMETER, ConstrainedPool
from plimsoll.decide.ceph.making_pools.crush_report import CrushReport
from plimsoll.decide.ceph.making_pools.crush_rules import CrushRule, with_rules
from plimsoll.decide.ceph.making_pools.requested import PoolsRequest
from plimsoll.decide.ceph.making_pools.steps import (
    AddDataPool,
    AddRules,
    CreatePool,
    EnableApplication,
    LabelPool,
    PoolsPlan,
    PoolsRefused,
    PoolStep,
    SetMinSize,
    decide_pools,
    described,
)
from plimsoll.processes.driver.backends.ceph.class_parameters import GROUP as POOL_GROUP
from plimsoll.processes.driver.backends.cephfs.class_parameters import FILESYSTEM
from plimsoll.runtime.clock import Clock
from plimsoll.wire.ceph.connection import CephConnection
from plimsoll.wire.ceph.crush_map import CrushMapText, read_crush_map, write_crush_map
from plimsoll.wire.ceph.errors import CephError, CephFailure

ATTEMPTS = 5
LOOKS, BETWEEN_LOOKS = 60, timedelta(seconds=0.5)
SURE = {"yes_i_really_mean_it": True}

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolMaking:
    connection: CephConnection
    clock: Clock
    request: PoolsRequest
    tell: Tell
    """Gets a line for each step."""

    async def rehearse(self) -> PoolsPlan | PoolsRefused:
        """Tell what would be done, and do nothing. Raises CephError."""
        plan = decide_pools(self.request, await self._report())
        if isinstance(plan, PoolsPlan):
            for step in plan.steps:
                self.tell(f"would {described(step)}")
        return plan

    async def make(self) -> PoolsPlan | PoolsRefused:
        """Do what is to be done. Raises CephError, and CommandError where there is no crushtool."""
        for attempt in range(ATTEMPTS):
            plan = decide_pools(self.request, await self._report())
            if isinstance(plan, PoolsRefused):
                return plan
            try:
                for step in plan.steps:
                    await self._carry_out(step)
                    self.tell(described(step))
            except CephError as error:
                if error.failure is not CephFailure.CHANGED or attempt == ATTEMPTS - 1:
                    raise
                continue
            await self._wait_for_figures(plan.pools)
            return plan
        raise AssertionError("the last attempt returns")

    async def _wait_for_figures(self, pools: tuple[ConstrainedPool, ...]) -> None:
        """Until Ceph tells what is free in each: drivers make no volume there before."""
        names = {pool.name for pool in pools}
        for looked in range(LOOKS):
            missing = names - await self._measured()
            if not missing:
                return
            if not looked:
                self.tell(f"wait until Ceph tells what is free in {', '.join(sorted(missing))}")
            await self.clock.sleep(BETWEEN_LOOKS)
        self.tell("Ceph does not tell it; look whether a manager runs (`ceph -s`)")

    async def _measured(self) -> set[str]:
        told = await self.connection.command("df", detail="detail")
        return {pool["name"] for pool in told["pools"]}

    async def _report(self) -> CrushReport:
        crush = await self.connection.command("osd crush dump")
        pools = await self.connection.command("osd pool ls", detail="detail")
        return CrushReport(crush, pools, await self.connection.command("fs ls"))

    async def _carry_out(self, step: PoolStep) -> None:
        command = self.connection.command
        match step:
            case AddRules(rules):
                await self._add_rules(rules)
            case CreatePool():
                await self._create(step)
            case SetMinSize(pool=pool, min_size=min_size):
                await command("osd pool set", pool=pool, var="min_size", val=str(min_size))
            case EnableApplication(pool=pool, application=application):
                await command("osd pool application enable", pool=pool, app=application)
            case AddDataPool(pool=pool, file_system=file_system):
                await command("fs add_data_pool", fs_name=file_system, pool=pool)
            case LabelPool(pool=pool, application=application, key=key, value=value):
                where = {"pool": pool, "app": application}
                await command("osd pool application set", **where, key=key, value=value)
            case _:
                assert_never(step)

    async def _create(self, step: CreatePool) -> None:
        groups = {"pg_num": step.pg_num, "pgp_num": step.pg_num}
        kind = {"pool_type": "replicated", "rule": step.rule, "size": step.size}
        sure = SURE if step.size == 1 else {}
        await self.connection.command("osd pool create", pool=step.pool, **groups, **kind, **sure)

    async def _add_rules(self, rules: tuple[CrushRule, ...]) -> None:
        """Decided about again with the version that is written on: rules may have come."""
        read = await read_crush_map(self.connection)
        report = await self._report()
        missing = [rule for rule in rules if report.rule(rule.name) is None]
        if len(missing) < len(rules):
            raise CephError(CephFailure.CHANGED, "the CRUSH map")
        text = with_rules(read.text, missing, first_id=report.first_free_id)
        await write_crush_map(self.connection, CrushMapText(text, read.version))


def class_document(request: PoolsRequest, pools: tuple[ConstrainedPool, ...]) -> dict[str, object]:
    """A class that uses the pools: by their group, if they have one, so that it stays as it is when
    domains come."""
    own = {FILESYSTEM: request.file_system, "pool": request.journal}
    chosen = {POOL_GROUP: request.group} if request.group else {PARAMETER: _listed(pools)}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "ceph"},
        "provisioner": "cephfs.plimsoll.dev" if request.file_system else "rbd.plimsoll.dev",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": True,
        "parameters": {name: value for name, value in own.items() if value} | chosen,
    }


def _listed(pools: tuple[ConstrainedPool, ...]) -> str:
    return json.dumps(
        [
            {
                "poolName": pool.name,
                "domainSegments": [
                    {"domainLabel": segment.label, "value": segment.value}
                    for segment in pool.segments
                ],
            }
            for pool in pools
        ]
    )
