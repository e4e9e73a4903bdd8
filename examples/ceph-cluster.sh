#!/bin/sh
# A Ceph cluster to try things on: a monitor, a manager, and an OSD in each of three zones, all on
# loopback and in one directory. It runs until Ctrl-C; started again there, it goes on.
#
#     sh ceph-cluster.sh DIRECTORY [PORT]
#
# Needs root, and Debian's packages ceph-mon, ceph-mgr, ceph-osd and ceph-common. It is no example of
# how to keep data: everything is on one disk, and one monitor is not enough.
set -eu
mkdir -p "$1/run" "$1/log"
home=$(cd "$1" && pwd)
port=${2:-3300}
export CEPH_CONF="$home/ceph.conf"

settings() {
    cat <<END
[global]
fsid = $1
mon host = [v2:127.0.0.1:$port/0]
public addr = 127.0.0.1
ms bind msgr1 = false
keyring = $home/keyring
run dir = $home/run
admin socket = $home/run/\$name.asok
crash dir = $home/log
log file = $home/log/\$name.log
mon cluster log file = $home/log/cluster.log
# A dead zone is to be noticed after seconds.
osd heartbeat interval = 1
osd heartbeat grace = 5
[client]
admin socket =
log file =
[mon]
mon data = $home/mon
# Of the disk, which others fill as well.
mon data avail warn = 2
mon data avail crit = 1
auth allow insecure global id reclaim = false
[mgr]
mgr data = $home/mgr
mgr module path = $home/mgr/modules
mgr initial modules =
mgr stats period = 1
[osd]
osd data = $home/osd.\$id
osd objectstore = bluestore
bluestore block size = 4294967296
osd memory target = 939524096
END
    for number in 0 1 2; do
        zone=$(echo abc | cut -c $((number + 1)))
        echo "[osd.$number]"
        echo "crush location = root=default zone=zone-$zone host=host-$zone"
    done
}

key() { ceph-authtool "$home/keyring" --gen-key --name "$@" >>"$home/log/making"; }

make_cluster() {
    fsid=$(cat /proc/sys/kernel/random/uuid)
    settings "$fsid" >"$CEPH_CONF"
    (umask 077 && : >"$home/keyring")
    key mon. --cap mon 'allow *'
    key client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
    key mgr.x --cap mon 'profile mgr' --cap osd 'allow *'
    for number in 0 1 2; do
        key "osd.$number" --cap mon 'profile osd' --cap mgr 'profile osd' --cap osd 'allow *'
    done
    (umask 077 && ceph-authtool --print-key --name client.admin "$home/keyring" >"$home/admin.key")
    echo "v2:127.0.0.1:$port" >"$home/monitors"
    # With all of its modules the manager would take ten seconds to start.
    mkdir -p "$home/mgr/modules"
    ln -s /usr/share/ceph/mgr/*.py /usr/share/ceph/mgr/rbd_support "$home/mgr/modules"
    monmaptool --create --fsid "$fsid" --set-min-mon-release 16 \
        --addv a "[v2:127.0.0.1:$port/0]" "$home/monmap" >"$home/log/making"
    ceph-mon -i a --mkfs --monmap "$home/monmap" --keyring "$home/keyring"
}

make_osd() {
    uuid=$(cat /proc/sys/kernel/random/uuid)
    ceph osd new "$uuid" "$1"
    mkdir "$home/osd.$1"
    ceph-osd -i "$1" --mkfs --osd-uuid "$uuid"
}

start() { # program, id
    "$1" -f -i "$2" >>"$home/log/output" 2>&1 &
    daemons="$! $daemons"
    echo $! >"$home/run/$1.$2.pid"
}

daemons=""
trap 'kill $daemons 2>/dev/null; wait' EXIT
trap 'exit 0' INT TERM

[ -e "$home/admin.key" ] || make_cluster
start ceph-mon a
ceph health mute MGR_MODULE_ERROR --sticky >>"$home/log/making" 2>&1
start ceph-mgr x
for number in 0 1 2; do
    [ -e "$home/osd.$number" ] || make_osd "$number" >>"$home/log/making" 2>&1
    start ceph-osd "$number"
done
until ceph osd stat | grep -q ' 3 up'; do sleep 1; done
echo "Ceph is up, with three zones:"
echo "  export CEPH_CONF=$CEPH_CONF"
echo "  monitors: $(cat "$home/monitors"); key of the administrator: $home/admin.key"
wait
