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
        # As the other tests of the suite ask: ours makes the account itself while the plugin is on.
        f"{TESTS}/garbagecollector/garbage_collector_test.go": {
            '"--watch-cache=%v", watchCache)}': (
                '"--watch-cache=%v", watchCache), "--disable-admission-plugins=ServiceAccount"}'
            )
        },
    },
)
WRITES_ETCD = "the test writes what no server takes any more into etcd, behind the server's back"
CBOR = "gate CBORServingAndStorage, which is off"
SNAPSHOTS = "kinds that kube-apiserver has not itself: the test knows no objects of them"
NO_CONVERSION = "webhooks that convert custom resources, which our server refuses by name"
NO_MUTATING_POLICIES = "MutatingAdmissionPolicy, which our server refuses by name"
OWN_ACCOUNT = "the test creates the default service account, which our server has created"
OWN_AUTHORIZER = (
    "an authorizer of the test's own inside the server, which alone lets its accounts read"
)
SECOND_SERVER = "a second server that begins with the first one's etcd"
OTHER_AUDIT_USER = "audit events that name kube-apiserver's own user, and how it impersonates"

AGGREGATION = "APIServices, which our server stores and hands no requests on to"

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
        "WithCBOR": CBOR,
        "/snapshot.storage.k8s.io": SNAPSHOTS,
    },
    "serviceaccount": {
        "TestServiceAccountTokenAuthentication|TestLegacyServiceAccountToken": OWN_AUTHORIZER,
    },
    "pods": {
        "TestPodTopologyLabels_FeatureDisabled": "gate PodTopologyLabelsAdmission switched off",
        "TestRelaxedDNSSearchValidation": "gate RelaxedDNSSearchValidation switched off and on",
    },
    "configmap": {},
    "apiserver/admissionwebhook": {
        "TestWebhookAdmission": WRITES_ETCD,
        "TestBrokenWebhook": SECOND_SERVER,
        "TestMutatingWebhookDuplicateOwnerReferences": "the words of a warning",
        "TestMutatingWebhookResetsInvalidManagedFields": (
            "a warning about managed fields that a webhook has spoilt, which is not there yet"
        ),
        "TestWebhookLoadBalance": "one connection for many calls of a webhook",
        "MatchConditions|TestMutatingWebhookConvertsGVK|Test_MutatingWebhookConvertsGVK": (
            "match conditions of webhooks, which our server refuses by name"
        ),
        "TestWebhookReinvocationPolicy": OTHER_AUDIT_USER,
        "TestStaticWebhookBlocksAPICreation": (
            "gate ManifestBasedAdmissionControlConfig, which is off"
        ),
        "TestWebhookTimeout.*/webhooks_consume_client_timeout": (
            "validating webhooks that are called at once: ours calls one after the other"
        ),
    },
    "apiserver/discovery": {
        "TestReadinessAggregatedAPIServiceDiscovery|TestAggregatedAPIServiceDiscovery": AGGREGATION,
        "TestCRD/(CRDAPIService|CRDBuiltinOverlapPrecence)": AGGREGATION,
        "TestFreshness/AggregatedUnreachable": AGGREGATION,
    },
    "apiserver/cel": {
        "MutatingAdmissionPolicy": NO_MUTATING_POLICIES,
        # Go looks no further than the first pattern that fits a part of the name.
        "TestPolicyAdmissionV1beta1": "a version that is emulated",
        "TestPolicyAdmission/snapshot.storage.k8s.io": SNAPSHOTS,
        "TestPolicyAdmission/.*mutatingadmissionpolic": NO_MUTATING_POLICIES,
        "TestPolicyAdmission/.*/deletecollection": (
            "a policy is told the names of the objects of a collection here"
        ),
        "TestPolicyAdmission/.*(attach|exec|portforward|proxy)/": "connections to containers",
        "TestPolicyAdmission/(autoscaling.v2|events.k8s.io.v1)": (
            "events and autoscalers are the same objects in either version here"
        ),
        "TestBuiltinResolution/discovery": "the kind APIResourceList, which is no object",
        "Test_ValidateAnnotationsAndWarnings": OTHER_AUDIT_USER,
        "Test_ValidatingAdmissionPolicy_MatchExcludedResource": "an administrator with a uid",
        "Test_CostLimitForValidation": "our server counts the cost of expressions in steps",
        "TestCRDsOnStartup": SECOND_SERVER,
    },
    "auth": {
        "Test(|Self|Local)SubjectAccessReview$": OWN_AUTHORIZER,
        "TestAuthorizationAttributeDetermination|TestRBACContextContamination": OWN_AUTHORIZER,
        "TestAuthModeAlways|TestImpersonateIsForbidden": (
            "unknown methods, health checks and connections to containers: answered otherwise"
        ),
        "TestImpersonateWithUID|TestConstrainedImpersonation": (
            "verbs of impersonation that are not there yet"
        ),
        "TestGetsSelfAttributes": "a user without a name, by an authenticator of the test's own",
        "TestSloppySANCertificates|TestAuthnToKAS": (
            "authorities for certificates of clients, and of a proxy that tells who asks"
        ),
        "TestPodSecurity$|TestPodSecurityGAOnly": (
            "checks of earlier versions of the standards, and metrics of the plugin"
        ),
        "TestDiscoveryUpgradeBootstrapping": SECOND_SERVER,
        "TestResourceClaimGranularStatusAuthorization": (
            "rights to parts of the status of claims for devices: not there yet"
        ),
        "TestServiceAccountTokenCreate": (
            "flags for issuer, audiences and the longest time of tokens, which our server has not"
        ),
        "TestMonitoringURLs": "`/metrics/slis`, which our server has not",
        "TestNodeAuthorizer": "a secret of a volume whose claim does not name it yet",
        "TestNodeRestrictionServiceAccount$": (
            "gate ServiceAccountNodeAudienceRestriction switched off"
        ),
        "TestNodeRestrictionServiceAccountAudience": OWN_ACCOUNT,
    },
    "certificates": {
        "TestCSRDuration": "a signer inside of the test, and metrics of kube-apiserver",
    },
    "daemonset": {},
    "job": {
        "TestJobAdmissionParallelismUpdate|TestJobGangScheduling": (
            "gates GenericWorkload and GangScheduling, which are off"
        ),
        "TestUpdateJobPodResources/.*_feature_gate_disabled": (
            "gate MutablePodResourcesForSuspendedJobs switched off"
        ),
    },
    "replicationcontroller": {},
    "service": {
        "Test_UpgradeService": WRITES_ETCD,
        "Test_ServiceValidation_FeatureGateEnableDisable": (
            "gate RelaxedServiceNameValidation switched off"
        ),
    },
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
