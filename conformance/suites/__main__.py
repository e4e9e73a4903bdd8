"""`make suites`: Kubernetes' own tests about scheduling pass with our scheduler.

Exit code 0: every test that ran passed, or there is no Go to build them with (then it says so).
Exit code 1: a test failed, or did not end. What was left out is named with its reason.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from conformance import peers
from conformance.suites.build import build_suite
from conformance.suites.run import SuiteOutcome, run_suite

OTHER_GATES = "the same test again, with feature gates of kube-scheduler that are not the default"
NO_DEVICES = "resources that device classes stand for: our scheduler allocates no devices"
SUITES: Mapping[str, Mapping[str, str]] = {
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
"""By suite, patterns of tests that are left out, with the reason. Tests with plugins of their own
are left out by the shim."""


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m conformance.suites", description=__doc__)
    parser.add_argument("--suite", default="", help="only suites whose name contains this")
    parser.add_argument("--run", default="", help="only tests that match this pattern of Go's")
    parser.add_argument("--logs", type=Path, help="keep what the suites print in this directory")
    return parser.parse_args()


def report(name: str, outcome: SuiteOutcome) -> None:
    print(
        f"{name}: {len(outcome.passed)} passed, {len(outcome.failed)} failed,"
        f" {len(outcome.unfinished)} did not end, {len(outcome.skipped)} skipped",
        flush=True,
    )
    for test in (*outcome.failed, *outcome.unfinished):
        print(f"  not passed: {test}")
    for test, why in outcome.skipped.items():
        print(f"  skipped: {test}{f': {why}' if why else ''}")


def main() -> int:
    arguments = parsed_arguments()
    wanted = {name: out for name, out in SUITES.items() if arguments.suite in name}
    if not wanted:
        print(f"no suite is called {arguments.suite!r}; there are {', '.join(SUITES)}")
        return 2
    is_good = True
    with tempfile.TemporaryDirectory(prefix="plimsoll-suites-") as temporary:
        logs = arguments.logs or Path(temporary)
        logs.mkdir(parents=True, exist_ok=True)
        try:
            for name, left_out in wanted.items():
                program = build_suite(name, lambda text: print(text, flush=True))
                log = logs / f"{name.replace('/', '_')}.log"
                outcome = run_suite(program, log, left_out, arguments.run)
                report(name, outcome)
                for pattern, why in left_out.items():
                    print(f"  left out: {pattern}: {why}")
                is_good = is_good and outcome.is_good
        except peers.PeersUnavailableError as error:
            print(f"suites skipped: {error}")
            return 0
        except peers.BuildFailedError as error:
            print(error)
            return 1
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
