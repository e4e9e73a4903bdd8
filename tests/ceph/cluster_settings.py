"""The configuration and the keys of the cluster that `loopback_cluster` starts.

Everything that Ceph does rarely to spare large clusters is done every second here, and OSDs in
other zones notice a hung one after four seconds.
"""

import base64
import os
import struct
import time
from collections.abc import Mapping
from pathlib import Path

ZONES = ("zone-a", "zone-b", "zone-c")
REGION = "region-1"
DRIVER_USER = "plimsoll"
FILES_USER = "plimsoll-fs"
METADATA_SERVERS = ("m", "n")
"""One is active, the other stands by. They run only where a test asks for a file system."""
GIB = 1 << 30

DRIVER_CAPS = {
    "mon": "profile rbd",
    "osd": "profile rbd",
    "mgr": "profile rbd",
}
FILES_CAPS = {
    "mon": 'allow r, allow command "osd blocklist"',
    "mds": "allow rwps",
    "osd": "allow rw tag cephfs metadata=*, allow rw tag cephfs data=*",
}

Section = Mapping[str, object]


def key_ring() -> str:
    """Keys of everything that speaks to a monitor; `ceph-mon --mkfs` takes them all over."""
    caps = {
        "mon.": {"mon": "allow *"},
        "client.admin": dict.fromkeys(("mon", "osd", "mgr", "mds"), "allow *"),
        f"client.{DRIVER_USER}": DRIVER_CAPS,
        f"client.{FILES_USER}": FILES_CAPS,
        "mgr.x": {"mon": "allow profile mgr", "osd": "allow *"},
    }
    for number in range(len(ZONES)):
        profile = {"mon": "allow profile osd", "mgr": "allow profile osd", "osd": "allow *"}
        caps[f"osd.{number}"] = profile
    for name in METADATA_SERVERS:
        caps[f"mds.{name}"] = {
            "mon": "allow profile mds",
            "mgr": "allow profile mds",
            "osd": "allow rwx",
            "mds": "allow *",
        }
    return "\n".join(_key_entry(name, caps[name]) for name in caps)


def _key_entry(name: str, caps: Mapping[str, str]) -> str:
    lines = [f"[{name}]", f"\tkey = {_key()}"]
    for service, allowed in caps.items():
        escaped = allowed.replace('"', '\\"')
        lines.append(f'\tcaps {service} = "{escaped}"')
    return "\n".join(lines) + "\n"


def _key() -> str:
    """Kind, time, no nanoseconds, length, and that many random bytes."""
    header = struct.pack("<HIIH", 1, int(time.time()), 0, 16)
    return base64.b64encode(header + os.urandom(16)).decode()


def configuration(directory: Path, *, fsid: str, port: int, osds: Mapping[int, str]) -> str:
    """`osds` are uuids by number; the monitor listens on `port`, others on those after it."""
    sections: dict[str, Section] = {
        "global": _everywhere(directory, fsid, port),
        "client": _clients(directory),
        "mon": _monitors(directory),
        "mgr": _managers(directory),
        "mds": _metadata_servers(directory),
        "osd": _storage(directory),
    }
    for number, uuid in osds.items():
        zone = ZONES[number % len(ZONES)]
        place = f"root=default region={REGION} zone={zone} host={zone}-host"
        sections[f"osd.{number}"] = {"osd uuid": uuid, "crush location": place}
    return "\n".join(_section(name, section) for name, section in sections.items())


def _section(name: str, section: Section) -> str:
    return f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in section.items())


def _everywhere(directory: Path, fsid: str, port: int) -> Section:
    return {
        "fsid": fsid,
        "mon host": f"[v2:127.0.0.1:{port}/0]",
        "mon initial members": "a",
        **dict.fromkeys(
            ("auth cluster required", "auth service required", "auth client required"), "cephx"
        ),
        "public addr": "127.0.0.1",
        "ms bind msgr1": "false",
        "ms bind port min": port + 1,
        "ms bind port max": port + 60,
        "run dir": directory / "run",
        "admin socket": directory / "run" / "$name.$pid.asok",
        "log file": directory / "log" / "$name.log",
        "mon cluster log file": directory / "log" / "cluster.log",
        "crash dir": directory / "crash",
        "keyring": directory / "keyring",
        "setuser match path": "",
        "osd crush chooseleaf type": 0,
        "osd pool default size": 1,
        "osd pool default pg autoscale mode": "off",
        # The monitor reads these two as well: they do not belong to the OSDs alone.
        "osd heartbeat interval": 1,
        "osd heartbeat grace": 4,
        # The monitor decides by these when a metadata server is gone.
        "mds beacon interval": 1,
        "mds beacon grace": 4,
        "mds beacon mon down grace": 4,
    }


def _clients(directory: Path) -> Section:
    return {
        "log file": directory / "log" / "$name.$pid.log",
        "admin socket": "",
        "err to stderr": "false",
        "rados mon op timeout": 20,
        "rados osd op timeout": 20,
        "client mount timeout": 15,
        "client shutdown timeout": 2,
        "objecter timeout": 2,
        "objecter tick interval": 1,
    }


def _monitors(directory: Path) -> Section:
    quiet = (
        "mon warn on pool no redundancy",
        "mon warn on pool no app",
        "mon warn on insecure global id reclaim",
        "mon warn on insecure global id reclaim allowed",
        "mon osd adjust heartbeat grace",
        "auth allow insecure global id reclaim",
    )
    return {
        "mon data": directory / "mon.$id",
        "mon tick interval": 1,
        "paxos propose interval": 0.05,
        "paxos min wait": 0.01,
        "mon data avail warn": 1,
        "mon data avail crit": 1,
        "mon allow pool delete": "true",
        "mon allow pool size one": "true",
        "mon osd down out interval": 86400,
        "mon osd min down reporters": 1,
        "mon osd reporter subtree level": "osd",
        "mon osd initial require min compat client": "octopus",
        "mon max pg per osd": 1000,
        **dict.fromkeys(quiet, "false"),
    }


def _managers(directory: Path) -> Section:
    return {
        "mgr data": directory / "mgr.$id",
        "mgr module path": directory / "mgr-modules",
        "mgr initial modules": "",
        "mgr stats period": 1,
        "mgr tick period": 1,
    }


def _metadata_servers(directory: Path) -> Section:
    return {
        "mds data": directory / "mds.$id",
        "mds reconnect timeout": 4,
        # What clients wait for that only the next tick writes down: five seconds by default.
        "mds tick interval": 1,
        # Clients that are gone are evicted, also while an OSD is slow to answer.
        "defer client eviction on laggy osds": "false",
    }


def _storage(directory: Path) -> Section:
    return {
        "osd data": directory / "osd.$id",
        "osd objectstore": "bluestore",
        "osd class update on start": "false",
        "osd memory target": 900 << 20,
        "osd client watch timeout": 5,
        "osd op num shards": 2,
        "osd op num threads per shard": 1,
        "osd recovery delay start": 0,
        "osd recovery sleep": 0,
        "bluestore block size": 4 * GIB,
        "bluestore block db create": "false",
        "bluestore block wal create": "false",
        "bluestore cache autotune": "false",
        "bluestore cache size": 64 << 20,
    }
