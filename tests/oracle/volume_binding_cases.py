"""Asks `plimsoll.decide.scheduling` what volumes a pod gets on each node, and how it gets them."""

from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.typed import from_document
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.scheduling.binding.bind_volumes import (
    AllBound,
    Choice,
    assume,
    forget,
    forget_unwritten,
    written,
)
from plimsoll.decide.scheduling.binding.wait_for_volumes import Bound, GivenUp, check_bindings
from plimsoll.decide.scheduling.reasons import FIT, NOT_CONCERNED, Finding, Judgement, failed
from plimsoll.decide.scheduling.rules.volume_binding import claims, filter as volume_binding
from plimsoll.decide.scheduling.rules.volume_binding.score import (
    DEFAULT_SHAPE,
    Point,
    ScoringShape,
    score,
)
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import (
    PodVolumes,
    StaticBinding,
)
from plimsoll.decide.scheduling.view import Cluster
from tests.decide.scheduling.builders import Believed
from tests.oracle.cluster_cases import Answer, cluster_of, shown
from tests.oracle.comparison import agrees

T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)


def volumebinding(case: Document) -> Answer:
    cluster, pod = cluster_of(case), from_document(Pod, case["pod"])
    options = case.get("options") or {}
    sorted_claims = claims.prepare(pod, cluster)
    if isinstance(sorted_claims, Judgement):
        return {"preFilter": shown(sorted_claims)}
    judged = {
        node.name: volume_binding.judge(
            sorted_claims,
            node,
            cluster,
            knows_attributes_classes=not options.get("volumeAttributesClassDisabled", False),
        )
        for node in cluster.nodes.values()
    }
    shape = _shape(options)
    answer: Answer = {
        "preFilter": shown(FIT),
        "nodes": {name: _node(result, shape) for name, result in judged.items()},
    }
    feasible = sorted(name for name, result in judged.items() if isinstance(result, PodVolumes))
    if feasible:
        answer["preScore"] = FIT.verdict.value
        answer["preScoreFeatureOff"] = NOT_CONCERNED.verdict.value
        answer["reserve"] = {
            name: _reserve(pod, result, name, cluster)
            for name in {feasible[0], feasible[-1]}
            if isinstance(result := judged[name], PodVolumes)
        }
    return answer


def volumebinding_agrees(expected: Answer, actual: Answer) -> bool:
    """What could also have come out, had volumes been listed in another order, is right as well."""
    alternatives = expected.get("orderAlternatives", {})
    canonical = {name: part for name, part in expected.items() if name != "orderAlternatives"}
    for name, node in actual.get("nodes", {}).items():
        if any(agrees(_scored(choice, node), node) for choice in alternatives.get(name, ())):
            canonical["nodes"] = canonical["nodes"] | {name: node}
    return agrees(_scored(canonical, actual), actual)


def vb_sequence_agrees(expected: Answer, actual: Answer) -> bool:
    return agrees(_scored(expected, actual), actual)


def _scored(expected: Any, actual: Any) -> Any:
    """Where the real program crashes over a score, any number will do."""
    match expected, actual:
        case "PANIC", int():
            return actual
        case dict(), dict():
            return {name: _scored(part, actual.get(name)) for name, part in expected.items()}
        case list(), list() if len(expected) == len(actual):
            return [*map(_scored, expected, actual)]
        case _:
            return expected


def _shape(options: Document) -> ScoringShape:
    points = options.get("shape")
    return ScoringShape.parse([Point(**point) for point in points]) if points else DEFAULT_SHAPE


def _node(result: PodVolumes | Judgement, shape: ScoringShape) -> Answer:
    if isinstance(result, Judgement):
        return shown(result)
    static = [
        {"pvc": str(binding.claim.key), "pv": binding.volume.name} for binding in result.static
    ]
    dynamic = [
        {"pvc": str(made.claim.key), "capacity": made.capacity and str(made.capacity.key)}
        for made in result.provisions
    ]
    return (
        shown(FIT)
        | ({"staticBindings": static} if static else {})
        | ({"dynamicProvisions": dynamic} if dynamic else {})
        | {"score": score(result, shape)}
    )


def _reserve(pod: Pod, volumes: PodVolumes, node: str, cluster: Cluster) -> Answer:
    believed = Believed(*cluster.volumes.values(), *cluster.claims.values())
    choice = assume(pod, volumes, node, believed)
    if isinstance(choice, Finding):
        return shown(failed(choice))
    if isinstance(choice, AllBound):
        binding: Answer = {"allBound": True, "preBindPreFlight": NOT_CONCERNED.verdict.value}
    else:
        binding = {
            "allBound": False,
            "preBindPreFlight": FIT.verdict.value,
            "apiUpdates": [f"{write.resource.plural}:{write.key}" for write in choice.writes],
        }
    return shown(FIT) | binding | _assumed(believed)


def _assumed(believed: Believed) -> Answer:
    return {
        "assumedPVs": {
            str(key): {
                "claimRef": msgspec.to_builtins(volume.spec.claim_ref),
                "annotations": dict(volume.annotations) or None,
            }
            for key in sorted(believed.volumes.assumed)
            if (volume := believed.volumes.snapshot().get(key))
        },
        "assumedPVCs": {
            str(key): {"annotations": dict(claim.annotations) or None}
            for key in sorted(believed.claims.assumed)
            if (claim := believed.claims.snapshot().get(key))
        },
    }


def vb_checkbindings(case: Document) -> Answer:
    pod = from_document(Pod, case["cluster"]["pod"])
    choice = Choice(
        node=pod.spec.node_name,
        static=tuple(
            StaticBinding(
                from_document(PersistentVolumeClaim, binding["pvc"]),
                from_document(PersistentVolume, binding["pv"]),
            )
            for binding in case["bindings"]
        ),
        awaited=tuple(
            from_document(PersistentVolumeClaim, claim) for claim in case["claimsToProvision"]
        ),
    )
    progress = check_bindings(pod.key, choice, cluster_of(case["cluster"]))
    answer: Answer = {"done": isinstance(progress, Bound)}
    return answer | ({"error": progress.finding.sentence} if isinstance(progress, GivenUp) else {})


def vb_sequence(case: Document) -> Answer:
    story = _Story(cluster_of(case["cluster"]))
    return {"steps": [story.step(step) for step in case["steps"]]}


class _Story:
    """A scheduler without a server: what it is shown, what it believes, what it has reserved."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._believed = Believed(*cluster.volumes.values(), *cluster.claims.values())
        self._choices: dict[str, Choice | AllBound] = {}

    def step(self, step: Document) -> Answer:
        operation = step["op"]
        answer: Answer = {"op": operation}
        answer |= getattr(self, f"_{operation}")(step)
        return answer | _assumed(self._believed)

    @property
    def _view(self) -> Cluster:
        volumes = self._believed.volumes.snapshot().objects
        return replace(
            self._cluster,
            volumes={volume.name: volume for volume in volumes.values()},
            claims=self._believed.claims.snapshot().objects,
        )

    def _apply(self, step: Document) -> Answer:
        if step["kind"] == "PersistentVolume":
            volume = from_document(PersistentVolume, step["object"])
            self._believed.volumes.put(volume.key, volume)
        else:
            claim = from_document(PersistentVolumeClaim, step["object"])
            self._believed.claims.put(claim.key, claim)
        return {}

    def _delete(self, step: Document) -> Answer:
        key = ObjectKey.parse(step["name"])
        if step["kind"] == "PersistentVolume":
            self._believed.volumes.remove(key)
        else:
            self._believed.claims.remove(key)
        return {}

    def _schedule(self, step: Document) -> Answer:
        pod = from_document(Pod, step["pod"])
        sorted_claims = claims.prepare(pod, self._view)
        if isinstance(sorted_claims, Judgement):
            return {"preFilter": shown(sorted_claims)}
        judged = {
            node.name: volume_binding.judge(sorted_claims, node, self._view)
            for node in self._cluster.nodes.values()
        }
        nodes = {name: _node(result, DEFAULT_SHAPE) for name, result in judged.items()}
        answer: Answer = {"preFilter": shown(FIT), "nodes": nodes}
        feasible = {
            name: result for name, result in judged.items() if isinstance(result, PodVolumes)
        }
        if not feasible:
            return answer
        for change in step.get("appliedBetweenFilterAndReserve") or ():
            self._apply(change) if change["op"] == "apply" else self._delete(change)
        name = step["node"] if step["node"] in feasible else min(feasible)
        reserved = self._reserve(pod, feasible[name], name)
        return answer | {"reservedNode": name, "reserve": reserved}

    def _reserve(self, pod: Pod, volumes: PodVolumes, node: str) -> Answer:
        choice = assume(pod, volumes, node, self._believed)
        if isinstance(choice, Finding):
            self._choices.pop(pod.name, None)
            return shown(failed(choice))
        self._choices[pod.name] = choice
        return shown(FIT) | {"allBound": isinstance(choice, AllBound)}

    def _unreserve(self, step: Document) -> Answer:
        choice = self._choices.pop(step["name"], None)
        if isinstance(choice, Choice):
            forget(choice, self._believed)
        return {"done": choice is not None}

    def _bind(self, step: Document) -> Answer:
        choice = self._choices.get(step["name"])
        if not isinstance(choice, Choice):
            return {"done": False}
        fails_at = step.get("failAPICall", len(choice.writes))
        calls = [f"{write.resource.plural}:{write.key}" for write in choice.writes]
        volumes = [_returned(binding.volume) for binding in choice.static]
        objects: list[PersistentVolume | PersistentVolumeClaim]
        objects = [*volumes, *map(_returned, choice.provisions)]
        answer: Answer = {"apiUpdates": calls[: fails_at + 1]}
        choice = written(choice, objects[:fails_at])
        self._choices[step["name"]] = choice
        if fails_at < len(objects):
            forget_unwritten(choice, self._believed, fails_at)
            answer["error"] = "simulated API failure"
        return answer | {"done": True}


def _returned(object_: T) -> T:
    """As the server gives it back: with a newer version."""
    version = str(int(object_.metadata.resource_version) + 1_000_000)
    metadata = msgspec.structs.replace(object_.metadata, resource_version=version)
    return msgspec.structs.replace(object_, metadata=metadata)
