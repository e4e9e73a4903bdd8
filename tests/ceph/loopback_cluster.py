"""A real Ceph cluster on loopback: a monitor, a manager and an OSD in each of three zones.

Everything is in one temporary directory and started in about five seconds. There is a pool in each
zone (`rbd-zone-a` and so on), which dies with it, and the pool `journal`, which outlives any one of
them. The daemons are children of the tests; `guardian` clears them away when those end.
"""

import errno
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import rados
import rbd

from tests.ceph import guardian
from tests.ceph.cluster_settings import DRIVER_USER, ZONES, configuration, key_ring

T = TypeVar("T")

JOURNAL = "journal"
POOLS = {zone: f"rbd-{zone}" for zone in ZONES}
WITHIN = 180.0
UP_WITHIN = 40.0
ENDED_WITHIN = 20.0
PORTS = 64
MANAGER_CODE = Path("/usr/share/ceph/mgr")
MANAGER_MODULES = frozenset({"rbd_support"})
TRIES = 3


class ClusterError(Exception):
    """The cluster did not start, or does not do what it was told."""


def osd(zone: str) -> str:
    return f"osd.{ZONES.index(zone)}"


class LoopbackCluster:
    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="plimsoll-ceph-"))
        self._guardian = _start_guardian(self.directory)
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._admin: Any = None
        self.fsid = str(uuid.uuid4())
        self._port = _free_port()

    @property
    def conf(self) -> Path:
        return self.directory / "ceph.conf"

    @property
    def key(self) -> str:
        """Of the user that a driver for images connects as."""
        return self.key_of(DRIVER_USER)

    def key_of(self, user: str) -> str:
        lines = (self.directory / "keyring").read_text().splitlines()
        at = lines.index(f"[client.{user}]")
        return lines[at + 1].partition(" = ")[2]

    @property
    def monitor(self) -> str:
        return f"v2:127.0.0.1:{self._port}"

    @classmethod
    def started(cls) -> Self:
        """A daemon that dies at its start is rare, and a reason to begin anew."""
        for number in range(TRIES):
            cluster = cls()
            try:
                cluster._start()
            except (ClusterError, rados.Error):
                cluster.close()
                if number + 1 == TRIES:
                    raise
            except BaseException:
                cluster.close()
                raise
            else:
                return cluster
        raise AssertionError

    def close(self) -> None:
        if self._admin is not None:
            self._admin.shutdown()
        pipe = self._guardian.stdin
        assert pipe
        pipe.close()
        self._guardian.wait()
        for daemon in self._daemons.values():
            daemon.wait()

    # What tests do to it.

    def start(self, name: str) -> None:
        """Raises ClusterError if it runs: a second one would be lost sight of."""
        if self.is_running(name):
            raise ClusterError(f"{name} runs already")
        kind, _, own = name.partition(".")
        command = [f"ceph-{kind}", "-c", str(self.conf), "-i", own, "-f"]
        with (self.directory / "log" / f"{name}.out").open("ab") as output:
            self._daemons[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=_environment(),
            )

    def end(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """And wait until it is gone."""
        self._daemons[name].send_signal(number)
        self._daemons[name].wait(ENDED_WITHIN)

    def end_all(self) -> None:
        """At once: none sees another one go in order."""
        for daemon in self._daemons.values():
            daemon.kill()
        for daemon in self._daemons.values():
            daemon.wait(ENDED_WITHIN)

    def start_all(self) -> None:
        """That ever ran, the monitor first."""
        for name in self._daemons:
            self.start(name)
        # A monitor that was killed with them takes OSDs for up that are not there yet.
        self.until(self._is_writable, "the pools are not writable")
        self.wait_for_osds(len(ZONES))

    def _is_writable(self) -> bool:
        try:
            self.wait_until_writable()
        except rados.TimedOut:
            return False
        return True

    def is_running(self, name: str) -> bool:
        return name in self._daemons and self._daemons[name].poll() is None

    def restart_osd(self, zone: str) -> None:
        self.start(osd(zone))
        self.wait_for_osds(len(ZONES))
        self.wait_until_writable()

    @contextmanager
    def dead_zone(self, zone: str) -> Iterator[None]:
        """Killed for the length of the block, and back and writable after it."""
        self.end(osd(zone))
        self.wait_for_osds(len(ZONES) - 1)
        try:
            yield
        finally:
            self.restart_osd(zone)

    @contextmanager
    def without(self, name: str, number: signal.Signals) -> Iterator[None]:
        """A daemon is killed, or stopped, for the length of the block."""
        if number is signal.SIGSTOP:
            self._daemons[name].send_signal(number)
            self.until(lambda: self._is_stopped(name), f"{name} does not stop")
        else:
            self.end(name, number)
        try:
            yield
        finally:
            if self.is_running(name):
                self._daemons[name].send_signal(signal.SIGCONT)
            else:
                self.start(name)
            self.until(self.is_whole, f"{name} does not come back")

    def _is_stopped(self, name: str) -> bool:
        """Every thread: on a busy machine one may still answer for a moment."""
        threads = Path(f"/proc/{self._daemons[name].pid}/task").glob("*/stat")
        states = [file.read_text().rpartition(")")[2].split()[0] for file in threads]
        return all(state == "T" for state in states)

    @contextmanager
    def quota(self, pool: str, max_bytes: int) -> Iterator[None]:
        self._set_quota(pool, max_bytes)
        try:
            yield
        finally:
            self._set_quota(pool, 0)
            self.until(lambda: not self.is_full(pool), f"pool {pool} stays full")

    def wait_for_quota(self, pool: str, max_bytes: int) -> None:
        self.until(lambda: self._told_quota(pool) == max_bytes, "the quota is not told")

    def _told_quota(self, pool: str) -> int:
        return self._figure(pool, "quota_bytes")

    def stored_bytes(self, pool: str) -> int:
        """As monitors tell it, which is a moment after it was written."""
        return self._figure(pool, "stored")

    def _figure(self, pool: str, name: str) -> int:
        pools = self.command("df", detail="detail")["pools"]
        (figure,) = (item["stats"][name] for item in pools if item["name"] == pool)
        return int(figure)

    def _set_quota(self, pool: str, max_bytes: int) -> None:
        self.command("osd pool set-quota", pool=pool, field="max_bytes", val=str(max_bytes))

    def is_full(self, pool: str) -> bool:
        pools = self.command("osd dump")["pools"]
        (flags,) = (item["flags_names"] for item in pools if item["pool_name"] == pool)
        return "full" in flags.split(",")

    def fill(self, pool: str, size: int) -> None:
        """Write that much, then wait until the pool takes no more: Ceph looks every second."""
        with self._admin.open_ioctx(pool) as opened:
            opened.write_full("filling", b"x" * size)
            opened.set_osdmap_full_try()
            self.until(lambda: self._is_refused(opened), f"pool {pool} does not become full")

    def _is_refused(self, opened: Any) -> bool:
        """A new object, by the OSD, which may learn of it after the monitor."""
        try:
            opened.write_full("overflowing", b"x")
            opened.remove_object("overflowing")
        except rados.Error as error:
            return bool(error.errno == errno.EDQUOT)
        return False

    def write_objects(self, pool: str, number: int) -> None:
        with self._admin.open_ioctx(pool) as opened:
            for own in range(number):
                opened.write_full(f"object-{own}", b"data")

    def on_image(self, pool: str, name: str, function: Callable[[Any], T]) -> T:
        """What the function returns for the open image."""
        with self._admin.open_ioctx(pool) as opened, rbd.Image(opened, name) as image:
            return function(image)

    def empty(self, pool: str) -> None:
        self.remove_object(pool, "filling")

    def remove_object(self, pool: str, name: str) -> None:
        """That there is none is no error."""
        with self._admin.open_ioctx(pool) as opened, suppress(rados.ObjectNotFound):
            opened.set_osdmap_full_try()
            opened.remove_object(name)

    def command(self, prefix: str, **arguments: object) -> Any:
        """What a monitor answers the administrator. Raises ClusterError."""
        text = json.dumps({"prefix": prefix, "format": "json", **arguments})
        code, output, message = self._admin.mon_command(text, b"")
        if code:
            raise ClusterError(f"{prefix} {arguments}: {code} {message}")
        return json.loads(output) if output.strip()[:1] in (b"{", b"[") else output

    def tell(self, daemon: str, prefix: str) -> Any:
        """What a metadata server answers the administrator, by the command line."""
        command = ["ceph", "-c", str(self.conf), "tell", daemon, *prefix.split(), "-f", "json"]
        done = subprocess.run(command, capture_output=True, check=True, env=_environment())
        return json.loads(done.stdout)

    # Whether it is as it should be.

    def is_whole(self) -> bool:
        """Every daemon runs, every OSD is in its place; false if it does not even answer."""
        if not all(self.is_running(name) for name in self._daemons):
            return False
        try:
            return bool(self.command("osd stat")["num_up_osds"] == len(ZONES))
        except (ClusterError, rados.Error):
            return False

    def wait_for_osds(self, number: int) -> None:
        """An OSD that was killed dies at its start now and then, or runs and does not come up; it
        does the next time."""
        running = [name for name in map(osd, ZONES) if self.is_running(name)]
        if number == len(ZONES):
            running = [*map(osd, ZONES)]
        deadlines = dict.fromkeys(running, time.monotonic() + UP_WITHIN)

        def is_so() -> bool:
            up = self._up()
            for name in running:
                if name not in up and self.is_running(name) and time.monotonic() > deadlines[name]:
                    self.end(name)
                if not self.is_running(name):
                    self.start(name)
                    deadlines[name] = time.monotonic() + UP_WITHIN
            return len(up) == number

        self.until(is_so, f"there are not {number} OSDs up, of {', '.join(running)}")

    def _up(self) -> set[str]:
        return {f"osd.{each['osd']}" for each in self.command("osd dump")["osds"] if each["up"]}

    def wait_for_figures(self) -> None:
        """Ceph tells what is free in every pool; for a moment after a start it does not."""
        self.until(self._is_measured, "there are no figures of pools")

    def _is_measured(self) -> bool:
        pools = {each["pool_name"] for each in self.command("osd dump")["pools"]}
        told = {
            each["name"]
            for each in self.command("df", detail="detail")["pools"]
            if 0 < each["stats"]["max_avail"] < 1 << 63
        }
        return len(pools) > len(ZONES) and pools <= told

    def wait_until_writable(self) -> None:
        """Objects of different names are in different placement groups."""
        self._admin.wait_for_latest_osdmap()
        for pool in (JOURNAL, *POOLS.values()):
            with self._admin.open_ioctx(pool) as opened:
                for number in range(16):
                    opened.write_full(f"probe-{number}", b"")
                    opened.remove_object(f"probe-{number}")

    def until(self, is_so: Callable[[], bool], otherwise: str) -> None:
        until = time.monotonic() + WITHIN
        while not is_so():
            if time.monotonic() > until:
                raise ClusterError(otherwise)
            time.sleep(0.05)

    # How it starts.

    def _start(self) -> None:
        osds = {number: str(uuid.uuid4()) for number in range(len(ZONES))}
        self._write_files(osds)
        making = {number: self._make_osd(number, osds[number]) for number in osds}
        self._make_monitor()
        self.start("mon.a")
        self._admin = rados.Rados(conffile=str(self.conf), name="client.admin")
        self._admin.connect()
        self._start_manager()
        for number, made in making.items():
            self.command("osd new", uuid=osds[number], id=number)
            if made.wait(WITHIN):
                raise ClusterError(f"osd.{number} could not be made")
            self.start(f"osd.{number}")
        self.until(self._all_up, "the OSDs do not come up")
        self._make_pools()
        self.wait_until_writable()
        self.wait_for_figures()

    def _write_files(self, osds: dict[int, str]) -> None:
        for name in ("run", "log", "crash", "mgr-modules", "mon.a", "mgr.x"):
            (self.directory / name).mkdir()
        for number in osds:
            (self.directory / f"osd.{number}").mkdir()
        text = configuration(self.directory, fsid=self.fsid, port=self._port, osds=osds)
        self.conf.write_text(text)
        keys = self.directory / "keyring"
        keys.touch(mode=0o600)
        keys.write_text(key_ring())
        # The manager imports every module that it finds, for ten seconds: these will do.
        for found in MANAGER_CODE.iterdir():
            if found.suffix == ".py" or found.name in MANAGER_MODULES:
                (self.directory / "mgr-modules" / found.name).symlink_to(found)

    def _make_osd(self, number: int, own: str) -> subprocess.Popen[bytes]:
        """It needs no monitor, so it is made beside that."""
        command = ["ceph-osd", "-c", str(self.conf), "-i", str(number), "--mkfs"]
        return subprocess.Popen(
            [*command, "--no-mon-config", "--osd-uuid", own],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        )

    def _make_monitor(self) -> None:
        map_, keys = str(self.directory / "monmap"), str(self.directory / "keyring")
        made = ("monmaptool", "--create", "--fsid", self.fsid, "--set-min-mon-release", "16")
        self._run(*made, "--addv", "a", f"[{self.monitor}/0]", map_)
        made = ("ceph-mon", "-c", str(self.conf), "-i", "a", "--mkfs")
        self._run(*made, "--monmap", map_, "--keyring", keys)

    def _start_manager(self) -> None:
        """Most of its modules are missing on purpose; without it there are no figures of pools."""
        self.command("health mute", code="MGR_MODULE_ERROR", sticky=True)
        name = "mgr/devicehealth/enable_monitoring"
        self.command("config set", who="mgr", name=name, value="false", force=True)
        self.start("mgr.x")

    def _run(self, *command: str) -> None:
        done = subprocess.run(command, capture_output=True, check=False, env=_environment())
        if done.returncode:
            raise ClusterError(f"{command[0]}: {done.stderr.decode(errors='replace')}")

    def _all_up(self) -> bool:
        for name in self._daemons:
            if not self.is_running(name):
                raise ClusterError(f"{name} ended while the cluster started")
        return len(self._up()) == len(ZONES)

    def _make_pools(self) -> None:
        for zone, pool in POOLS.items():
            self.make_rule(f"only-{zone}", root=zone, type="osd")
            self.make_pool(pool, rule=f"only-{zone}", size=1)
        self.make_rule("across-zones", root="default", type="zone")
        self._make_journal()

    def make_rule(self, name: str, **where: str) -> None:
        self.command("osd crush rule create-replicated", name=name, **where)

    def make_pool(self, pool: str, *, rule: str, size: int, application: str = "rbd") -> None:
        groups = {"pg_num": 8, "pgp_num": 8, "autoscale_mode": "off"}
        kind = {"pool_type": "replicated", "rule": rule, "size": size}
        self.command("osd pool create", pool=pool, **groups, **kind)
        self.command("osd pool application enable", pool=pool, app=application)

    def remake_pools(self) -> None:
        """Those of the zones, and the journal, without all that is in them."""
        for pool in (*POOLS.values(), JOURNAL):
            self.remove_pool(pool)
        for zone, pool in POOLS.items():
            self.make_pool(pool, rule=f"only-{zone}", size=1)
        self._make_journal()
        self.wait_until_writable()
        self.wait_for_figures()

    def _make_journal(self) -> None:
        self.make_pool(JOURNAL, rule="across-zones", size=len(ZONES))
        self.command("osd pool set", pool=JOURNAL, var="min_size", val="2")

    def remove_pool(self, pool: str) -> None:
        sure = {"pool2": pool, "yes_i_really_really_mean_it": True}
        self.command("osd pool delete", pool=pool, **sure)


def _start_guardian(directory: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, guardian.__file__, str(directory)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


def _environment() -> dict[str, str]:
    return {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}


def _free_port() -> int:
    """The first of a block; below what the kernel gives to clients."""
    for _ in range(100):
        port = random.randrange(20000, 32000 - PORTS)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise ClusterError("no port is free")
