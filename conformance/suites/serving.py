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
WRITES_ETCD = "the test writes what no server takes any more into etcd, behind the server's back"
REQUEST_LIMIT = "the limit is that of a request to etcd: ours stores objects as large as a body"
CBOR = "gate CBORServingAndStorage, which is off"
SNAPSHOTS = "kinds that kube-apiserver has not itself: the test knows no objects of them"
NO_CONVERSION = "webhooks that convert custom resources, which our server refuses by name"
NO_MUTATING_POLICIES = "MutatingAdmissionPolicy, which our server refuses by name"
OWN_ACCOUNT = "the test creates the default service account, which our server has created"

SUITES: dict[str, LeftOut] = {
    "storageclasses": {},
    "volume": {
        "TestPersistentVolumeClaimVolumeAttirbutesClassName/(.*_is_dropped_by_|.*#01)": (
            "gate VolumeAttributesClass switched off"
        ),
    },
    "volumescheduling": {},
    "statefulset": {},
    "deployment": {},
    "evictions": {},
    "disruption": {
        "TestEmptySelector/v1beta1": WRITES_ETCD,
        "TestSelectorsForPodsWithoutLabels/.*_v1beta1_": WRITES_ETCD,
    },
    "garbagecollector": {
        "TestCrossNamespaceReferences": OWN_ACCOUNT,
        "TestCascadingDeleteOnCRDConversionFailure": NO_CONVERSION,
    },
    "quota": {},
    "dryrun": {
        "TestDryRun/snapshot.storage.k8s.io": SNAPSHOTS,
        "TestDryRun/admissionregistration.k8s.io/v1,_Resource=mutatingadmissionpolic": (
            NO_MUTATING_POLICIES
        ),
    },
    "apiserver/apply": {
        "TestApplyCRDNoSchema|TestApplyCRDUnhandledSchema": WRITES_ETCD,
        "TestUpdateStatusWithOldVersion": WRITES_ETCD,
        "VeryLargeObject": REQUEST_LIMIT,
        "WithCBOR": CBOR,
        "/snapshot.storage.k8s.io": SNAPSHOTS,
    },
    "serviceaccount": {
        "TestServiceAccountTokenAuthentication": (
            "an authorizer of the test's own inside the server, which alone lets its accounts read"
        ),
        "TestLegacyServiceAccountToken": (
            "our server does not note when the token of a secret was used last"
        ),
    },
    "pods": {
        "TestPodTopologyLabels_FeatureDisabled": "gate PodTopologyLabelsAdmission switched off",
        "TestRelaxedDNSSearchValidation": "gate RelaxedDNSSearchValidation switched off and on",
    },
    "configmap": {},
    "cronjob": {},
    "endpoints": {},
    "endpointslice": {},
    "events": {},
    "namespace": {},
    "node": {},
    "podgc": {},
    "replicaset": {},
    "scale": {},
    "secrets": {},
    "ttlcontroller": {},
}
"""Tests that change the inside of kube-apiserver, or need flags that ours has not, are left out by
the shim."""

SERVER = Subject(name="server", shim=SHIM, suites=SUITES, programs=Programs.ONE_FOR_ALL)
