#!/bin/sh
# Ceph's daemons, clients and Python bindings from Debian's packages, for `make test-ceph`. The
# bindings are linked into the environment of the Python that is given, and nothing else of the
# system's packages. Where that fails, the reason is printed and the tests are skipped.
set -u
python=$1
packages="ceph-mon ceph-osd ceph-mgr ceph-mds ceph-common rbd-fuse ceph-fuse
    python3-rados python3-rbd python3-cephfs"
modules="rados rbd cephfs"

missing=""
for package in $packages; do
    dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null |
        grep -qx installed || missing="$missing $package"
done

# Debian starts what it installs unless this file forbids it. One that is there already stays.
policy=/usr/sbin/policy-rc.d
forbid_services() {
    [ -e "$policy" ] && return
    trap 'rm -f "$policy"' EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"
}

# Another program may be installing packages just now, or have been killed while it did.
apt() { told=$(apt-get -o DPkg::Lock::Timeout=300 --quiet "$@" 2>&1); }
install() { apt install --yes --no-install-recommends $missing; }
finish_interrupted() { dpkg --configure --pending >/dev/null 2>&1; }

if [ -n "$missing" ]; then
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        echo "not installed:$missing" >&2
    else
        echo "installing$missing" >&2
        export DEBIAN_FRONTEND=noninteractive
        forbid_services
        install || { finish_interrupted; apt update; install; } ||
            { echo "could not install$missing:"; echo "$told" | tail -n 3; } >&2
    fi
fi

suffix=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
for module in $modules; do
    binding=/usr/lib/python3/dist-packages/$module$suffix
    if [ -e "$binding" ]; then
        ln -sf "$binding" "$site/"
    else
        echo "there is no $binding: Debian has its bindings for one version of Python only" >&2
    fi
done
