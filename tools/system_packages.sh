#!/bin/sh
# Programs that some tests of the driver need, from Debian's packages. Where they cannot be
# installed, those tests are skipped, and say so.
set -u
missing=""
for pair in mkfs.ext4:e2fsprogs mkfs.xfs:xfsprogs mkfs.btrfs:btrfs-progs lvm:lvm2 losetup:mount; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "${pair%%:*}" >/dev/null || missing="$missing ${pair##*:}"
done
[ -z "$missing" ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "not installed:$missing; the tests that need them are skipped" >&2
    exit 0
fi
echo "installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
# Another program may be installing packages just now, or have been killed while it did.
apt() { told=$(apt-get -o DPkg::Lock::Timeout=300 --quiet "$@" 2>&1); }
install() { apt install --yes --no-install-recommends $missing; }
finish_interrupted() { dpkg --configure --pending >/dev/null 2>&1; }
install || { finish_interrupted; apt update; install; } ||
    { echo "could not install$missing; tests that need them are skipped:"; echo "$told" | tail -n 3; } >&2
