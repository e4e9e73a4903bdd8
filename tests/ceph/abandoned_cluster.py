"""Starts a cluster with a mount and a loop device below its directory, tells where, and waits.

`test_guardian` kills it.
"""

import os
import signal
import subprocess

from tests.ceph.loopback_cluster import LoopbackCluster

if __name__ == "__main__":
    directory = LoopbackCluster.started().directory
    if os.geteuid() == 0:
        image, mounted = directory / "image", directory / "mounted"
        mounted.mkdir()
        image.touch()
        os.truncate(image, 64 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, mounted], check=True)
    print(directory, flush=True)
    signal.pause()
