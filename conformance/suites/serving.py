"""Suites on our API server, with Kubernetes' own controllers and scheduler as they are."""

from conformance.suites.overlay import TESTS, Shim
from conformance.suites.subject import LeftOut, Programs, Subject

STARTED = "\nfunc StartTestServer("
RENAMED = "\nfunc startUpstreamServer("

SHIM = Shim(
    name="serving",
    added={
        "cmd/kube-apiserver/app/testing": "testing",
        f"{TESTS}/framework": "framework",
    },
    rewritten={
        "cmd/kube-apiserver/app/testing/testserver.go": {STARTED: RENAMED},
        f"{TESTS}/framework/test_server.go": {STARTED: RENAMED},
        f"{TESTS}/framework/etcd.go": {"\nfunc startEtcd(": "\nfunc startUpstreamEtcd("},
    },
)
SUITES: dict[str, LeftOut] = {
    "storageclasses": {},
    "volume": {},
    "volumescheduling": {},
    "statefulset": {},
    "deployment": {},
    "evictions": {},
    "disruption": {},
    "garbagecollector": {},
    "quota": {},
    "dryrun": {},
    "apiserver/apply": {},
    "serviceaccount": {},
    "pods": {},
}
"""Tests that change the inside of kube-apiserver, or need flags that ours has not, are left out by
the shim."""

SERVER = Subject(name="server", shim=SHIM, suites=SUITES, programs=Programs.ONE_FOR_ALL)
