"""What an administrator says about the cluster, and what a class says about its volumes.

The parameters of a class are those of ceph-csi: `pool`, `topologyConstrainedPools`, `dataPool`,
`imageFeatures`, `volumeNamePrefix`, `clusterID`. With `topologyConstrainedPools` the journal is in
`pool`, and images are in the pools of the list.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from plimsoll.decide.ceph.constrained_pools import (
    PARAMETER,
    ConstrainedPool,
    parse_constrained_pools,
)
from plimsoll.decide.ceph.pool_capacity import parse_overcommit
from plimsoll.processes.driver.settings import SetupError
from plimsoll.wire.ceph.connection import CephAccess
from plimsoll.wire.csi.refusals import invalid_argument

PARAMETERS = frozenset(
    {"pool", PARAMETER, "dataPool", "imageFeatures", "volumeNamePrefix", "clusterID"}
)
ENCRYPTION = frozenset({"encrypted", "encryptionKMSID", "encryptionType"})
FEATURES = frozenset({"layering", "exclusive-lock", "object-map", "fast-diff", "deep-flatten"})
LONGEST_KEY = 4096
"""Bytes of a file that holds nothing else; keys have forty."""
DEFAULT_FEATURES = "layering"
DEFAULT_PREFIX = "csi-vol-"


class RbdOptions(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    monitors: str
    user: str
    """Without `client.`."""
    key_file: str
    """A file that holds the key of the user, and nothing else."""
    cluster_id: str = ""
    """Classes that name another `clusterID` are refused; empty: any name will do."""
    pool: str = ""
    """The `pool` of classes that name none."""
    overcommit: str = "1"
    """How many bytes are promised for each that there is."""


def parse_options(options: Mapping[str, Any]) -> RbdOptions:
    """Raises SetupError."""
    try:
        found = msgspec.convert(options, RbdOptions, strict=False)
        parse_overcommit(found.overcommit)
    except (msgspec.ValidationError, ValueError) as error:
        raise SetupError(f"options of the rbd backend: {error}") from error
    return found


def access_of(options: RbdOptions) -> CephAccess:
    """Raises SetupError."""
    try:
        with Path(options.key_file).open("rb") as file:
            read = file.read(LONGEST_KEY + 1)
    except OSError as error:
        raise SetupError(f"keyFile: {options.key_file}: {error.strerror}") from error
    key = read.decode(errors="replace").strip()
    if len(read) > LONGEST_KEY or not (key.isascii() and key.isprintable() and key):
        raise SetupError(
            f"keyFile: {options.key_file}: holds no key; `ceph auth get-key` prints it"
        )
    return CephAccess(monitors=options.monitors, user=options.user, key=key)


@dataclass(frozen=True, slots=True, kw_only=True)
class RbdClass:
    journal_pool: str
    pools: tuple[ConstrainedPool, ...]
    """Where images may be."""
    features: tuple[str, ...]
    name_prefix: str

    def data_pool(self, pool: str) -> str:
        return next((item.data_pool for item in self.pools if item.name == pool), "")


def parse_class(parameters: Mapping[str, str], options: RbdOptions) -> RbdClass:
    """Raises CsiStatusError (INVALID_ARGUMENT)."""
    _check_names(parameters, options)
    journal_pool = parameters.get("pool", "") or options.pool
    if not journal_pool:
        raise invalid_argument("parameters: pool: must be given; it has the journal of volumes")
    return RbdClass(
        journal_pool=journal_pool,
        pools=_pools(parameters, journal_pool),
        features=_features(parameters.get("imageFeatures", "") or DEFAULT_FEATURES),
        name_prefix=parameters.get("volumeNamePrefix", "") or DEFAULT_PREFIX,
    )


def _check_names(parameters: Mapping[str, str], options: RbdOptions) -> None:
    if refused := sorted(parameters.keys() & ENCRYPTION):
        raise invalid_argument(f"parameters: {refused[0]}: volumes cannot be encrypted here")
    if unknown := sorted(parameters.keys() - PARAMETERS):
        known = ", ".join(sorted(PARAMETERS))
        raise invalid_argument(f"parameters: unknown {', '.join(unknown)}; known are {known}")
    wanted = parameters.get("clusterID", "")
    if wanted and options.cluster_id and wanted != options.cluster_id:
        raise invalid_argument(
            f"parameters: clusterID: {wanted}: this driver serves {options.cluster_id}"
        )


def _pools(parameters: Mapping[str, str], journal_pool: str) -> tuple[ConstrainedPool, ...]:
    text = parameters.get(PARAMETER, "")
    if not text:
        return (ConstrainedPool(name=journal_pool, data_pool=parameters.get("dataPool", "")),)
    try:
        pools = parse_constrained_pools(text)
    except ValueError as error:
        raise invalid_argument(f"parameters: {error}") from error
    if any(pool.cluster_id for pool in pools):
        raise invalid_argument(f"parameters: {PARAMETER}: this driver serves one cluster only")
    return pools


def _features(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if unknown := sorted(set(names) - FEATURES):
        known = ", ".join(sorted(FEATURES))
        raise invalid_argument(f"parameters: imageFeatures: {unknown[0]}: known are {known}")
    return names


def overcommit_of(options: RbdOptions) -> Fraction:
    return parse_overcommit(options.overcommit)
