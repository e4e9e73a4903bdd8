"""`plimsoll upgrade-zonal`: turn zone labels of volumes into node affinity, once and for all."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import click
import msgspec

from plimsoll.api.core import Node
from plimsoll.api.volumes import PersistentVolume
from plimsoll.decide.claims.zonal import (
    EXPLANATIONS,
    ZonalReason,
    ZonalUpgrade,
    decide_zonal_upgrade,
    zonal_upgrade,
)
from plimsoll.decide.plan import Patch, Plan
from plimsoll.runtime.config import Sources, load_settings
from plimsoll.runtime.flags import Flag
from plimsoll.ui.documents import TABLE, written_document
from plimsoll.ui.options.cluster_options import ClusterFlags, cluster_options
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig_files import KubeconfigError
from plimsoll.wire.parameters import WriteOptions, merge_patch

VOLUMES = typed(PersistentVolume)
ATTEMPTS = 3
NEEDS_A_PERSON = frozenset({ZonalReason.UNREADABLE, ZonalReason.CONTRADICTORY})

Labels = Sequence[Mapping[str, str]]


class UpgradeResult(StrEnum):
    UPGRADED = "upgraded"
    WOULD_UPGRADE = "would upgrade"
    SKIPPED = "skipped"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    volume: str
    result: UpgradeResult
    added: str = ""
    reason: ZonalReason
    why: str = ""

    @property
    def is_trouble(self) -> bool:
        return self.result is UpgradeResult.REFUSED or self.reason in NEEDS_A_PERSON


class UpgradeZonalFlags(ClusterFlags, frozen=True, kw_only=True):
    dry_run: Annotated[bool, Flag("Show what would change, and change nothing.", off=None)] = False


@click.command("upgrade-zonal")
@cluster_options(UpgradeZonalFlags)
def upgrade_zonal(**given: Any) -> None:
    """Give volumes with zone or region labels the node affinity that these labels mean.

    Labels stay as they are. An affinity that speaks about zones already is never changed. A dry run
    goes through every check of the server.

    Exit codes: 0 all volumes are as they should be (or would be), 1 some volume needs a person, or
    the cluster could not be reached, 2 bad usage.
    """
    flags = load_settings(UpgradeZonalFlags, Sources(flags=given))
    try:
        client = flags.client("plimsoll")
    except KubeconfigError as error:
        raise click.UsageError(str(error)) from error
    try:
        rows, others = asyncio.run(_upgrade(client, dry_run=flags.dry_run))
    except KubeError as error:
        raise click.ClickException(flags.told(error)) from error
    click.echo(_shown(rows, flags.output_format))
    if others:
        click.echo(f"{others} volumes have no zone or region labels.", err=True)
    sys.exit(1 if any(row.is_trouble for row in rows) else 0)


async def _upgrade(client: KubeClient, *, dry_run: bool) -> tuple[list[Row], int]:
    """The volumes with labels, by name, and how many others there are."""
    try:
        labels = [node.labels for node in (await client.list(typed(Node))).items]
        volumes = sorted((await client.list(VOLUMES)).items, key=lambda volume: volume.name)
        rows = [await _upgrade_one(client, volume, labels, dry_run=dry_run) for volume in volumes]
    finally:
        await client.close()
    labelled = [row for row in rows if row.reason is not ZonalReason.NO_LABELS]
    return labelled, len(rows) - len(labelled)


async def _upgrade_one(
    client: KubeClient, volume: PersistentVolume, labels: Labels, *, dry_run: bool
) -> Row:
    """Decided anew when another writer changes the volume at the same time."""
    for attempt in range(ATTEMPTS):
        upgrade = zonal_upgrade(volume, labels)
        if upgrade.affinity is None:
            return _skipped(volume, upgrade.reason)
        try:
            await _write(client, decide_zonal_upgrade(volume, labels), dry_run=dry_run)
        except KubeError as error:
            if error.is_passing:
                raise
            if error.failure is Failure.CONFLICT and attempt < ATTEMPTS - 1:
                volume = await client.get(VOLUMES, volume.key)
                continue
            return _row(volume, UpgradeResult.REFUSED, upgrade, why=error.message)
        return _row(
            volume, UpgradeResult.WOULD_UPGRADE if dry_run else UpgradeResult.UPGRADED, upgrade
        )
    raise AssertionError("the last attempt returns")


async def _write(client: KubeClient, plan: Plan, *, dry_run: bool) -> None:
    for write in plan.writes:
        if isinstance(write, Patch):
            seen = {"resourceVersion": write.version, "uid": write.uid}
            patch = merge_patch(write.patch | {"metadata": seen})
            await client.patch(VOLUMES, write.key, patch, WriteOptions(is_rehearsal=dry_run))


def _skipped(volume: PersistentVolume, reason: ZonalReason) -> Row:
    why = EXPLANATIONS[reason]
    return Row(volume=volume.name, result=UpgradeResult.SKIPPED, reason=reason, why=why)


def _row(
    volume: PersistentVolume, result: UpgradeResult, upgrade: ZonalUpgrade, why: str = ""
) -> Row:
    reason = ZonalReason.REFUSED if result is UpgradeResult.REFUSED else upgrade.reason
    return Row(volume=volume.name, result=result, added=upgrade.described, reason=reason, why=why)


def _shown(rows: Sequence[Row], output_format: str) -> str:
    if output_format != TABLE:
        return written_document(msgspec.to_builtins(rows), output_format)
    lines = [("VOLUME", "RESULT", "ADDED", "WHY")]
    lines += [(row.volume, row.result.value, row.added or "-", row.why or "-") for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    return "\n".join(
        "   ".join([*(cell.ljust(w) for cell, w in zip(line, widths, strict=False)), line[3]])
        for line in lines
    )
