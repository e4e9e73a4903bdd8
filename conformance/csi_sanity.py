"""The real csi-sanity on a CSI driver: nothing may fail, and little may be skipped.

A spec may be skipped for one reason only: the driver does not say that it can do what the spec is
about. That is checked against what the driver says, not against what csi-sanity understood of it.
"""

import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from conformance import peers
from conformance.csi_drivers import Driver, capabilities

MEBIBYTE = 1 << 20
TIMEOUT_SECONDS = 900
SHOWN = 5
"""Failures that are told."""

EXCUSES: Mapping[str, str] = {
    "GetCapacity not supported": "controller/GET_CAPACITY",
    "ListVolumes not supported": "controller/LIST_VOLUMES",
    "CreateVolume not supported": "controller/CREATE_DELETE_VOLUME",
    "DeleteVolume not supported": "controller/CREATE_DELETE_VOLUME",
    "Volume Cloning not supported": "controller/CLONE_VOLUME",
    "Snapshot not supported": "controller/CREATE_DELETE_SNAPSHOT",
    "CreateSnapshot not supported": "controller/CREATE_DELETE_SNAPSHOT",
    "DeleteSnapshot not supported": "controller/CREATE_DELETE_SNAPSHOT",
    "ListSnapshots not supported": "controller/LIST_SNAPSHOTS",
    "GetSnapshot not supported": "controller/GET_SNAPSHOT",
    "SNAPSHOT_ACCESSIBILITY_CONSTRAINTS not supported": "plugin/SNAPSHOT_ACCESSIBILITY_CONSTRAINTS",
    "ControllerExpandVolume not supported": "controller/EXPAND_VOLUME",
    "ControllerModifyVolume not supported": "controller/MODIFY_VOLUME",
    "Modify volume not supported": "controller/MODIFY_VOLUME",
    "Modify Volume not supported": "controller/MODIFY_VOLUME",
    "ControllerPublishVolume not supported": "controller/PUBLISH_UNPUBLISH_VOLUME",
    "ControllerUnpublishVolume not supported": "controller/PUBLISH_UNPUBLISH_VOLUME",
    "Controller Publish, UnpublishVolume not supported": "controller/PUBLISH_UNPUBLISH_VOLUME",
    "ControllerPublishVolume.readonly field not supported": "controller/PUBLISH_READONLY",
    "ControllerGetVolumeHealth not supported": "controller/GET_VOLUME_HEALTH",
    "ControllerListVolumeHealth not supported": "controller/LIST_VOLUME_HEALTH",
    "NodeStageVolume not supported": "node/STAGE_UNSTAGE_VOLUME",
    "NodeUnstageVolume not supported": "node/STAGE_UNSTAGE_VOLUME",
    "NodeGetVolume not supported": "node/GET_VOLUME_STATS",
    "NodeExpandVolume not supported": "node/EXPAND_VOLUME",
    "NodeGetVolumeHealth not supported": "node/GET_VOLUME_HEALTH",
    "NodeGetStorageHealth not supported": "node/GET_STORAGE_HEALTH",
    "Service does not have single node multi writer capability": "node/SINGLE_NODE_MULTI_WRITER",
    "GroupControllerService not supported": "plugin/GROUP_CONTROLLER_SERVICE",
}
"""csi-sanity's words for skipping a spec, and the capability that has to be absent."""
NOT_FOR_MANY: Mapping[str, str] = {
    "check the presence of new volumes and absence of deleted ones": (
        "counts all volumes of the driver before and after its own"
    ),
    "check the presence of new snapshots in the snapshot list": (
        "counts all snapshots of the driver before and after its own"
    ),
    "should return next token when a limited number of entries are requested": (
        "expects the second page to hold all snapshots of the driver but those of the first"
    ),
}
"""Specs that suppose to be alone with the driver, and why; run only by a single client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """How csi-sanity shall ask: of which class of volumes, and how large."""

    access_type: str = "mount"
    parameters: Mapping[str, str] = field(default_factory=dict)
    mutable_parameters: Mapping[str, str] = field(default_factory=dict)
    size_bytes: int = 10 * MEBIBYTE
    expanded_bytes: int = 20 * MEBIBYTE
    not_asked: Mapping[str, str] = field(default_factory=dict)
    """Parts of spec names that are not run, with the reason."""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What became of each spec."""

    passed: tuple[str, ...]
    failed: Mapping[str, str]
    skipped: Mapping[str, str]
    """The reason by spec, in csi-sanity's words; empty for a spec that was not asked for."""


def ask(driver: Driver, questions: Questions, *, clients: int = 1) -> list[Report]:
    """One report per client; they ask at the same time. Raises AssertionError on any failure."""
    clients_at_work = [
        _Client(driver, questions, driver.directory / f"client-{number}")
        for number in range(clients)
    ]
    try:
        reports = [client.report() for client in clients_at_work]
    finally:
        for client in clients_at_work:
            client.stop()
    able = capabilities(driver)
    for report in reports:
        assert_sane(report, able, questions)
    return reports


def assert_sane(report: Report, able: frozenset[str], questions: Questions) -> None:
    failures = [f"{spec}: {message}" for spec, message in report.failed.items()]
    # What fails after the first few fails because of them, as a rule.
    assert not failures, "\n".join([f"specs that failed: {len(failures)}", *failures[:SHOWN]])
    assert report.passed, "not a single spec was run"
    for spec, words in report.skipped.items():
        if not words:
            assert any(part in spec for part in questions.not_asked), f"{spec} was not run"
        elif words != "pending":
            missing = EXCUSES.get(words)
            assert missing is not None, f"{spec} was skipped: {words}"
            assert missing not in able, f"{spec} was skipped although the driver has {missing}"


def told(report: Report) -> str:
    """The report for people: what was run, and what was not for lack of which capability."""
    lacks: dict[str, int] = {}
    for words in report.skipped.values():
        why = EXCUSES.get(words, words or "not asked for")
        lacks[why] = lacks.get(why, 0) + 1
    skipped = ", ".join(f"{count} {why}" for why, count in sorted(lacks.items()))
    return f"{len(report.passed)} passed; skipped: {skipped or 'none'}"


class _Client:
    """One csi-sanity at work, with mount points and a report of its own."""

    def __init__(self, driver: Driver, questions: Questions, directory: Path) -> None:
        directory.mkdir()
        self._directory = directory
        self._report = directory / "report.xml"
        self._log = directory / "csi-sanity.log"
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                self._command(driver, questions), cwd=directory, stdout=output, stderr=output
            )

    def _command(self, driver: Driver, questions: Questions) -> list[str]:
        skipped = [f"--ginkgo.skip={part}" for part in questions.not_asked]
        modification = self._written("modification", questions.mutable_parameters)
        return [
            str(peers.build(peers.CSI_SANITY)),
            f"--csi.endpoint={driver.endpoint}",
            f"--csi.mountdir={self._directory / 'mount'}",
            f"--csi.stagingdir={self._directory / 'staging'}",
            f"--csi.testvolumeaccesstype={questions.access_type}",
            f"--csi.testvolumesize={questions.size_bytes}",
            f"--csi.testvolumeexpandsize={questions.expanded_bytes}",
            f"--csi.testvolumeparameters={self._written('class', questions.parameters)}",
            f"--csi.testvolumemutableparameters={modification}",
            f"--ginkgo.junit-report={self._report}",
            "--ginkgo.no-color",
            *skipped,
            *questions.flags,
        ]

    def _written(self, name: str, parameters: Mapping[str, str]) -> Path:
        path = self._directory / f"{name}.yaml"
        path.write_text(yaml.safe_dump(dict(parameters)))
        return path

    def report(self) -> Report:
        self._process.wait(TIMEOUT_SECONDS)
        tail = "\n".join(self._log.read_text(errors="replace").splitlines()[-15:])
        assert self._report.exists(), f"csi-sanity wrote no report: {tail}"
        return parsed_report(self._report)

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def parsed_report(path: Path) -> Report:
    passed: list[str] = []
    failed: dict[str, str] = {}
    skipped: dict[str, str] = {}
    for number, case in enumerate(ET.parse(path).iter("testcase")):  # noqa: S314 - our child's
        # Several specs have the same name.
        name = f"{number}: {case.get('name', '').removeprefix('[It] ')}"
        skip = case.find("skipped")
        if skip is not None:
            skipped[name] = skip.get("message", "").removeprefix("skipped").removeprefix(" - ")
        elif case.get("status") == "passed":
            passed.append(name)
        else:
            failed[name] = _why(case)
    return Report(passed=tuple(passed), failed=failed, skipped=skipped)


def _why(case: ET.Element) -> str:
    for tag in ("failure", "error"):
        found = case.find(tag)
        if found is not None:
            # Whole messages repeat themselves, with every field of every answer.
            return (found.text or found.get("message") or tag).strip()[:800]
    return str(case.get("status"))
