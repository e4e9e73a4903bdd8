"""Suites about scheduling, with our scheduler in the place of theirs on the real API server."""

from conformance.suites.overlay import TESTS, Shim
from conformance.suites.subject import Programs, Subject

OTHER_GATES = "the same test again, with feature gates of kube-scheduler that are not the default"
NO_DEVICES = "resources that device classes stand for: our scheduler allocates no devices"

SHIM = Shim(
    name="scheduling",
    added={f"{TESTS}/util": "util", "pkg/scheduler": "scheduler"},
    rewritten={
        f"{TESTS}/util/util.go": {
            "\nfunc InitTestSchedulerWithOptions(": "\nfunc initUpstreamScheduler(",
            "= framework.StartTestServer(tCtx, t, ": "= startServer(admission, tCtx, t, ",
        },
        # A machine that does other things as well needs longer to start an API server.
        f"{TESTS}/framework/test_server.go": {
            "wait.PollImmediate(100*time.Millisecond, 10*time.Second,": (
                "wait.PollImmediate(100*time.Millisecond, 2*time.Minute,"
            )
        },
        # The API server that tests share runs to the end: no use in looking for what it left
        # running.
        f"{TESTS}/framework/etcd.go": {
            "klog.StopFlushDaemon()\n": "klog.StopFlushDaemon()\n\tos.Exit(result)\n"
        },
    },
)
SUITES = {
    "volumescheduling": {},
    "scheduler/filters": {
        "TestTaintTolerationFilter/Pod_with_(Gt|Lt|mixed)_tol": (
            "gate TaintTolerationComparisonOperators, which is off"
        ),
        "TestNodeDeclaredFeaturesFilter/pod_with_feature_requirement": (
            "the feature is made up inside the test's process"
        ),
    },
    "scheduler/scoring": {
        "TestTaintTolerationScoring/pod_with_Gt_toleration": (
            "gate TaintTolerationComparisonOperators, which is off"
        ),
    },
    "scheduler/preemption": {
        "TestPodGroupPreemption": "gates GenericWorkload and GangScheduling, which are off",
        "TestPreemption/Async_preemption_enabled:_false": OTHER_GATES,
        "TestPreemption/Async_API_calls_enabled:_true": OTHER_GATES,
    },
    "scheduler/preemption/misc": {
        "/Async_preemption_enabled:_false": OTHER_GATES,
    },
    "scheduler/preemption/nominatednodename": {
        "/Async_preemption(_enabled)?:_false": OTHER_GATES,
        "/Async_API_calls:_true": OTHER_GATES,
        "/NNN_for_expectation:_false": OTHER_GATES,
    },
    "scheduler/queueing": {},
    "scheduler/queueing/queueinghint": {
        "/NodeResourcesFit/.*_is_requeued_.*_DRAExtendedResource_is_enabled": NO_DEVICES,
        "/NodeResourcesFit/NodeAffinity/DynamicResources/.*_is_requeued_": NO_DEVICES,
        "/NodeDeclaredFeatures/": "the feature is made up inside the test's process",
        "/GangScheduling/": "gates GenericWorkload and GangScheduling, which are off",
    },
}
"""Tests with plugins of their own are left out by the shim."""

SCHEDULER = Subject(name="scheduler", shim=SHIM, suites=SUITES, programs=Programs.ONE_EACH)
