"""A sample of Kubernetes' own suites for `make conformance`; `make suites` has all of them."""

import tempfile
from dataclasses import replace
from pathlib import Path

from conformance.step import Say, Servers, Step, tell
from conformance.suites.build import build_suite
from conformance.suites.run import run_suite
from conformance.suites.serving import SERVER

SAMPLE = {
    "storageclasses": "",
    "dryrun": "",
    "apiserver/apply": "TestCreateOnApply|TestDuplicatesInAssociativeLists|TestApplyManagedFields",
    "volume": "TestPersistentVolumeDeleter|TestPersistentVolumeClaimLabelSelector$",
    "evictions": "TestTerminalPodEviction",
    "statefulset": "TestVolumeTemplateNoopUpdate|TestDeletingPodForRollingUpdatePartition",
}
"""By suite, the pattern of its tests that are run here."""


def run_sample(say: Say) -> None:
    subject = replace(SERVER, suites={name: SERVER.suites[name] for name in SAMPLE})
    with tempfile.TemporaryDirectory(prefix="plimsoll-suites-") as logs:
        for name, only in SAMPLE.items():
            say(name)
            program = build_suite(subject, name, say)
            log = Path(logs, f"{name.replace('/', '_')}.log")
            outcome = run_suite(program, log, subject.suites[name], only)
            assert outcome.passed, f"no test was run: {log.read_text(errors='replace')[-2000:]}"
            failed = [*outcome.failed, *outcome.unfinished]
            assert not failed, (
                f"{', '.join(failed)}; SUITES='--on server --suite {name} --logs DIR' make suites "
                "keeps what they print"
            )
            say(f"{name}: {len(outcome.passed)} tests passed")


def sample_on_ours(_servers: Servers) -> None:
    tell("embedded", run_sample)


SUITE_STEPS = (Step("a sample of Kubernetes' own suites on the embedded server", sample_on_ours),)
