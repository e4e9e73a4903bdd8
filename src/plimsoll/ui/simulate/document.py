"""A report as a document for other programs; described in docs/reference/scenarios.md."""

from plimsoll.api.registry import Document
from plimsoll.simulator.invariants import Violation
from plimsoll.simulator.recording.recording import PodHistory, Recording, Sample
from plimsoll.simulator.run import RunVerdict
from plimsoll.ui.simulate.contents import judged
from plimsoll.ui.simulate.report import Tone

API_VERSION = "simulate.plimsoll.dev/v1"


def report_document(name: str, verdict: RunVerdict, recording: Recording) -> Document:
    """Times are virtual seconds from when the cluster was up."""
    tone, sentence = judged(verdict, recording)
    began = recording.began_at
    return {
        "apiVersion": API_VERSION,
        "kind": "SimulationReport",
        "name": name,
        "seed": verdict.seed,
        "ok": tone is Tone.GOOD,
        "interrupted": verdict.was_interrupted,
        "verdict": sentence,
        "digest": verdict.digest,
        "virtualSeconds": _rounded(verdict.virtual_seconds - began),
        "nodes": recording.nodes,
        "zones": [*recording.zones],
        "refusedNodes": recording.refused_nodes,
        "evictedPods": recording.evictions,
        "violations": [_violation(each, began) for each in verdict.violations],
        "happenings": [
            {"at": _rounded(each.at), "what": each.what, "fault": each.is_fault}
            for each in recording.happenings
        ],
        "calls": [
            {
                "driver": driver,
                "call": call,
                "calls": count,
                "failed": {
                    code: failed
                    for (d, c, code), failed in sorted(recording.failed_calls.items())
                    if (d, c) == (driver, call)
                },
            }
            for (driver, call), count in sorted(recording.calls.items())
        ],
        "capacity": [
            {
                "driver": area.driver,
                "zone": area.zone or None,
                "pools": area.pools,
                "sizeBytes": area.size_bytes,
                "freeBytes": recording.samples[-1].free_bytes[area.name],
                "publishedBytes": recording.samples[-1].published_bytes.get(area.name),
            }
            for area in recording.areas
        ],
        "pods": [_pod(pod, began) for pod in recording.pods],
        "samples": [_sample(sample) for sample in recording.samples],
    }


def _rounded(seconds: float) -> float:
    return round(seconds, 3)


def _since(moment: float | None, began: float) -> float | None:
    return None if moment is None else _rounded(moment - began)


def _violation(violation: Violation, began: float) -> Document:
    return {
        "invariant": str(violation.invariant),
        "at": _rounded(violation.at - began),
        "known": violation.is_known,
        "message": violation.message,
    }


def _pod(pod: PodHistory, began: float) -> Document:
    return {
        "name": pod.name,
        "workload": pod.owner,
        "state": str(pod.state),
        "node": pod.node or None,
        "zone": pod.zone or None,
        "created": _since(pod.created_at, began),
        "scheduled": _since(pod.scheduled_at, began),
        "running": _since(pod.running_at, began),
        "evicted": _since(pod.evicted_at, began),
        "gone": _since(pod.gone_at, began),
        "message": pod.message or None,
    }


def _sample(sample: Sample) -> Document:
    return {
        "at": _rounded(sample.at),
        "pods": {str(state): count for state, count in sample.pods.items()},
        "runningByZone": dict(sample.running_by_zone),
        "volumesByDriver": dict(sample.volumes_by_driver),
        "attachments": sample.attachments,
        "nodesReady": sample.nodes_ready,
        "freeBytes": dict(sample.free_bytes),
        "publishedBytes": dict(sorted(sample.published_bytes.items())),
    }
