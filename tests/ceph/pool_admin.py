"""An administrator who makes pools near each zone by `plimsoll ceph make-pools`."""

import subprocess
import time
from pathlib import Path
from typing import Any

from tests.ceph.cluster_settings import ZONES
from tests.ceph.loopback_cluster import LoopbackCluster
from tests.servers import plimsoll

PREFIX, JOURNAL = "near-", "near-journal"
POOLS = {zone: f"{PREFIX}{zone}" for zone in ZONES}
OBJECTS = 40


class PoolAdmin:
    def __init__(self, cluster: LoopbackCluster, directory: Path, *, file_system: str = "") -> None:
        self.cluster = cluster
        self._directory = directory
        self._file_system = file_system

    def make(self, *flags: str, user: str = "admin") -> subprocess.CompletedProcess[str]:
        key = self._directory / f"{user}.key"
        key.write_text(self.cluster.key_of(user))
        journal = "" if self._file_system else JOURNAL
        argv = [
            *(plimsoll(), "ceph", "make-pools", f"--monitors={self.cluster.monitor}"),
            *(f"--user={user}", f"--key-file={key}", f"--prefix={PREFIX}"),
            *(f"--journal={journal}", f"--file-system={self._file_system}"),
            *("--pg-num=8", *flags),
        ]
        return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)

    def made(self, *flags: str) -> subprocess.CompletedProcess[str]:
        done = self.make(*flags)
        assert done.returncode == 0, done.stderr
        return done

    def refusal(self, *flags: str, user: str = "admin") -> str:
        done = self.make(*flags, user=user)
        assert (done.returncode, done.stdout) == (1, "")
        return done.stderr

    @property
    def pools(self) -> dict[str, dict[str, Any]]:
        listed = self.cluster.command("osd pool ls", detail="detail")
        return {pool["pool_name"]: pool for pool in listed}

    @property
    def state(self) -> tuple[Any, Any]:
        """Of CRUSH and of pools, as far as administrators set it."""
        kept = ("size", "min_size", "crush_rule", "pg_num", "application_metadata")
        pools = {name: [pool[key] for key in kept] for name, pool in self.pools.items()}
        return self.cluster.command("osd crush dump"), pools

    @property
    def rules(self) -> set[str]:
        dumped = self.cluster.command("osd crush rule dump")
        return {rule["rule_name"] for rule in dumped}

    def placed(self, pool: str) -> list[list[int]]:
        """The OSDs of some objects, each with the primary first."""
        maps = (
            self.cluster.command("osd map", pool=pool, object=f"object-{n}") for n in range(OBJECTS)
        )
        return [[found["acting_primary"], *found["acting"]] for found in maps]

    @property
    def data_pools(self) -> list[str]:
        """Of the file system."""
        listed = self.cluster.command("fs ls")
        return next(each["data_pools"] for each in listed if each["name"] == self._file_system)

    def clear(self) -> None:
        for name in (*POOLS.values(), JOURNAL):
            if self._file_system and name in self.data_pools:
                self.cluster.command("fs rm_data_pool", fs_name=self._file_system, pool=name)
            if name in self.pools:
                self.cluster.remove_pool(name)
            if f"plimsoll-{name}" in self.rules:
                self.cluster.command("osd crush rule rm", name=f"plimsoll-{name}")

    def write(self, pool: str) -> float:
        """Seconds until a write to every placement group has ended."""
        began = time.monotonic()
        self.cluster.write_objects(pool, OBJECTS)
        return time.monotonic() - began
