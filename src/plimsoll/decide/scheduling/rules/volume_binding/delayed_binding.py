"""What a pod's delay-bound claims would get on a node: existing volumes, or new ones.

For all nodes at once, pods whose claims ask for the same share the answer. It is worked out again
only for nodes where a volume or a capacity came, went or changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.decide.annotations import SELECTED_NODE
from plimsoll.decide.claims.match import size_of
from plimsoll.decide.scheduling.columns.changes import KeptResults
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.columns.nodes import Slots, mask_of
from plimsoll.decide.scheduling.columns.segments import Cells
from plimsoll.decide.scheduling.columns.volumes import NOT_MATCHED
from plimsoll.decide.scheduling.flags import Blocked, Flags, flagged
from plimsoll.decide.scheduling.picking import RANK_BITS, STATIC_BITS
from plimsoll.decide.scheduling.placement.score import PlacedClaim, PlacementColumns, PlacementFit
from plimsoll.decide.scheduling.policy import Policy
from plimsoll.decide.scheduling.reasons import Finding, Reason, SeenObject, Sentence
from plimsoll.decide.scheduling.rules.volume_binding.delayed_claims import (
    DelayedClaim,
    DelayedClaims,
    naming_a_node,
)
from plimsoll.decide.scheduling.rules.volume_binding.joint_fit import (
    JointFit,
    JointFitColumns,
    JointRequest,
)
from plimsoll.decide.scheduling.rules.volume_binding.provisioning import (
    DynamicProvision,
    ProvisioningColumns,
    ProvisioningFit,
    ProvisioningQuery,
    judge_provisioning,
)
from plimsoll.decide.scheduling.rules.volume_binding.score import ScoringShape, UsageColumns, score
from plimsoll.decide.scheduling.rules.volume_binding.static_matching import (
    PodVolumes,
    ProvisioningRules,
    StaticMatching,
    match,
)
from plimsoll.decide.scheduling.view import ClusterView

EVERYWHERE = slice(None)
KEPT_ANSWERS = 256


class BySelectedNode(NamedTuple):
    """Delay-bound claims by the node that they already name. One that names a node gets a new
    volume there, whatever volumes exist."""

    here: list[PersistentVolumeClaim]
    elsewhere: list[PersistentVolumeClaim]
    free: list[PersistentVolumeClaim]


def judge_delayed(
    claims: Iterable[PersistentVolumeClaim],
    node: Node,
    view: ClusterView,
    *,
    knows: bool,
    joint: JointFit | None = None,
) -> PodVolumes | Finding:
    """Without `joint` each claim is judged alone."""
    by_node = by_selected_node(claims, node)
    if by_node.elsewhere:
        return selected_elsewhere(by_node.elsewhere[0])
    matches = match(by_node.free, node, view, knows=knows)
    provisions: list[DynamicProvision] = []
    for claim in (*by_node.here, *matches.unmatched):
        provision = judge_provisioning(claim, node, view)
        if isinstance(provision, Finding):
            return provision
        provisions.append(provision)
    if joint is not None and (finding := joint.judge(provisions, node, view)):
        return finding
    return PodVolumes(matches.static, tuple(provisions))


def by_selected_node(claims: Iterable[PersistentVolumeClaim], node: Node) -> BySelectedNode:
    by_node = BySelectedNode([], [], [])
    for claim in claims:
        selected = claim.annotations.get(SELECTED_NODE)
        if selected is None:
            by_node.free.append(claim)
        elif selected == node.name:
            by_node.here.append(claim)
        else:
            by_node.elsewhere.append(claim)
    return by_node


def selected_elsewhere(claim: PersistentVolumeClaim) -> Finding:
    return Finding(
        reason=Reason.SELECTED_ELSEWHERE,
        sentence=Sentence.NO_VOLUME,
        claim=claim.key,
        about=SeenObject("Node", ObjectKey("", claim.annotations.get(SELECTED_NODE, ""))),
    )


# All nodes at once


@dataclass(slots=True)
class DelayedBindingFit:
    """By slot."""

    flags: Flags
    statics: NDArray[np.int64]
    """How many claims would get a volume that exists."""
    scores: NDArray[np.int64]
    """From 0 to 100, by the shape; 0 where `placement` says it instead."""
    keys: NDArray[np.int64]
    """What is added to the keys by which nodes are sorted."""
    placement: PlacementFit | None = None
    """None: neither a class nor the pod prefers anything."""
    refuses: bool = True
    """False: no flag speaks against any node."""


class _Matched(NamedTuple):
    """What one free claim would get, by slot of those asked about; `sizes` is NOT_MATCHED where
    there is nothing. None: nothing anywhere."""

    sizes: NDArray[np.int64] | None

    def is_missing(self, length: int) -> NDArray[np.bool_]:
        if self.sizes is None:
            return np.ones(length, np.bool_)
        missing: NDArray[np.bool_] = self.sizes == NOT_MATCHED
        return missing


@dataclass(slots=True)
class _KeptAnswer:
    answer: DelayedBindingFit
    """Empty at first: with the stamps nothing is up to date."""
    stamps: tuple[object, ...]
    tables: list[Cells]
    positions: list[tuple[int, int]]
    refused: int = 0
    """How many nodes flags speak against."""


class DelayedBinding:
    """The rule, with what it remembers."""

    def __init__(self, columns: Columns, policy: Policy, shape: ScoringShape | None) -> None:
        self._columns = columns
        self._policy = policy
        self._shape = shape
        self._provisioning = ProvisioningColumns(columns)
        self.joint_fit = JointFitColumns(columns)
        new_volumes = ProvisioningRules(self._provisioning, self.joint_fit)
        self.static_matching = StaticMatching(columns, new_volumes, policy)
        self._usages = UsageColumns(shape)
        self._placement = PlacementColumns(columns, self._usages)
        self._kept: KeptResults[tuple[object, ...], _KeptAnswer] = KeptResults(KEPT_ANSWERS)

    def judge(self, claims: DelayedClaims) -> DelayedBindingFit:
        size, alive = self._columns.index.size, self._columns.index.alive
        if self._policy is Policy.DEFAULT:
            self.joint_fit.charges.refresh()
        if not claims.selected_nodes and claims.is_readable:
            return self._judge_free(claims)
        slot = (
            self._columns.index.find(min(claims.selected_nodes)) if claims.selected_nodes else None
        )
        # Nodes that no claim turns away by the node it names.
        possible = alive if not claims.selected_nodes else 0
        if slot is not None and len(claims.selected_nodes) == 1:
            possible = 1 << slot
        flags = flagged(mask_of(alive & ~possible, size), Blocked.DELAYED_ELSEWHERE)
        nothing = np.zeros(size, np.int64)
        answer = DelayedBindingFit(flags, nothing, nothing.copy(), nothing.copy())
        if not claims.is_readable:
            answer.flags |= flagged(mask_of(possible, size), Blocked.DELAYED_INVALID)
        elif possible:
            at = np.array([slot], np.intp)
            _write(answer, at, self._evaluate(claims, at))
        return answer

    def _judge_free(self, claims: DelayedClaims) -> DelayedBindingFit:
        if claims.has_kept:
            return self._evaluate(claims, EVERYWHERE)
        signature = (
            claims.override,
            *[(delayed.request, delayed.want, delayed.usage_class) for delayed in claims.free],
        )
        kept = self._kept.get(signature)
        if kept is None:
            kept = self._kept.keep(signature, _KeptAnswer(_no_answer(), (), [], []))
        tables, stamps = self._hangs_on(claims)
        positions = [(cells.log.position, cells.moves.position) for cells in tables]
        if kept.stamps != stamps or not _are_same(tables, kept.tables):
            changed = None
        elif kept.positions == positions:
            return kept.answer
        else:
            changed = _changed(kept)
        index = self._columns.index
        if changed is None:
            kept.answer = self._evaluate(claims, EVERYWHERE)
            kept.refused = int(np.count_nonzero(kept.answer.flags.take(index.by_name)))
        elif changed:
            # Where there is no node nothing is asked until one comes, and then of all of them.
            at = np.array([slot for slot in changed if index.names[slot]], np.intp)
            kept.refused += _write(kept.answer, at, self._evaluate(claims, at))
        kept.answer.refuses = kept.refused > 0
        kept.stamps, kept.tables, kept.positions = stamps, tables, positions
        return kept.answer

    def _hangs_on(self, claims: DelayedClaims) -> tuple[list[Cells], tuple[object, ...]]:
        """What the answers for single nodes hang on, and what those for all of them do."""
        columns = self._columns
        tables: list[Cells] = []
        stamps: list[object] = [
            columns.index.size,
            columns.stamp,
            columns.labels.stamp,
            columns.attach.stamp,
            columns.classes_stamp,
        ]
        for name in dict.fromkeys([delayed.request.class_name for delayed in claims.free]):
            if (volumes := columns.volumes.by_class.get(name)) is not None:
                tables.append(volumes.cells)
            if (capacity := columns.capacity.by_class.get(name)) is not None:
                tables.append(capacity.cells)
            stamps.append(None if capacity is None else capacity.keys)
        return tables, tuple(stamps)

    def _evaluate(self, claims: DelayedClaims, at: Slots | slice) -> DelayedBindingFit:
        length = self._columns.index.size if isinstance(at, slice) else len(at)
        matches = self._match(claims.free, at)
        asked = (*claims.here, *claims.free)
        judged = {
            request: self._provisioning.judge(request, at)
            for request in dict.fromkeys([delayed.request for delayed in asked])
        }
        new = [judged[delayed.request] for delayed in asked]
        flags = _joined(new, [*(_Matched(None) for _ in claims.here), *matches])
        if flags is None:
            flags = np.zeros(length, np.uint64)
        if self._policy is Policy.DEFAULT and (len(asked) > 1 or self.joint_fit.charges):
            self._refuse_together(asked, matches, flags, at)
        statics, has_statics = np.zeros(length, np.int64), False
        for matched in matches:
            if matched.sizes is not None:
                statics += matched.sizes != NOT_MATCHED
                has_statics = True
        scores = self._scores(claims, matches, new, length)
        answer = DelayedBindingFit(flags, statics, scores, scores)
        rescued: Mapping[int, PodVolumes] = {}
        if self._policy is Policy.DEFAULT and claims.has_rivals:
            rescued = self._rescue(claims, answer, at)
        answer.keys = answer.scores << RANK_BITS
        if self._policy is Policy.COMPATIBLE:
            return answer
        if has_statics:
            answer.keys += answer.statics << STATIC_BITS
        preferences = self._placement.preferences(claims)
        if preferences is not None:
            _correct(matches, claims.free, rescued)
            placed = _placed(asked, matches, new)
            answer.placement, answer.keys = self._placement.fit(placed, preferences, length)
            answer.scores = np.zeros(length, np.int64)
        return answer

    def _refuse_together(
        self,
        asked: Sequence[DelayedClaim],
        matches: Sequence[_Matched],
        flags: Flags,
        at: Slots | slice,
    ) -> None:
        """Flag the nodes where the new volumes do not fit together. `matches` are those of the last
        of the claims, the others get new volumes anyway."""
        tracked = [each for each in asked if self._provisioning.is_tracked(each.request)]
        if self.joint_fit.has_ample_capacity(
            {each.claim.key: each.request for each in tracked}.values(), at
        ):
            return
        unmatched = [_Matched(None)] * (len(asked) - len(matches))
        where: dict[ObjectKey, NDArray[np.bool_]] = {}
        requests: dict[ObjectKey, ProvisioningQuery] = {}
        for delayed, matched in zip(asked, (*unmatched, *matches), strict=True):
            if self._provisioning.is_tracked(delayed.request):
                key = delayed.claim.key
                is_new = matched.is_missing(len(flags))
                # A claim that the pod names twice takes its bytes once.
                where[key] = where[key] | is_new if key in where else is_new
                requests[key] = delayed.request
        volumes = [JointRequest(requests[key], where[key]) for key in requests]
        refused = self.joint_fit.refused(volumes, flags, at, naming_a_node(asked))
        flags[refused.together] = Blocked.DELAYED_TOGETHER
        flags[refused.reserved] = Blocked.DELAYED_RESERVED

    def _match(self, free: Sequence[DelayedClaim], at: Slots | slice) -> list[_Matched]:
        by_class = self._columns.volumes.by_class
        found: dict[int, _Matched] = {}
        for number, delayed in enumerate(free):
            found[number] = self._match_kept(delayed.kept, at) if delayed.kept else _Matched(None)
        rest = [
            n for n, each in enumerate(free) if each.want and each.request.class_name in by_class
        ]
        for name in dict.fromkeys([free[number].request.class_name for number in rest]):
            numbers = [n for n in rest if free[n].request.class_name == name]
            volumes = by_class[name]
            fits = volumes.fits(tuple([want for n in numbers if (want := free[n].want)]))
            if fits is not None:
                cells = volumes.cells.of.values[at]
                for row, number in enumerate(numbers):
                    found[number] = _Matched(fits.sizes[row].take(cells))
        return [found[number] for number in range(len(free))]

    def _match_kept(self, volume: PersistentVolume, at: Slots | slice) -> _Matched:
        size = size_of(volume.spec.capacity).value
        reach = mask_of(self.static_matching.reach(volume), self._columns.index.size)[at]
        return _Matched(np.where(reach, np.int64(size), np.int64(NOT_MATCHED)))

    def _scores(
        self,
        claims: DelayedClaims,
        matches: Sequence[_Matched],
        new: Sequence[ProvisioningFit],
        length: int,
    ) -> NDArray[np.int64]:
        if self._shape is None:
            return np.zeros(length, np.int64)
        static = [
            (delayed.request.class_name, delayed.request.size, matched.sizes)
            for delayed, matched in zip(claims.free, matches, strict=True)
            if matched.sizes is not None
        ]
        dynamic = [
            (delayed.usage_class, delayed.request.size, provisioned.capacities)
            for delayed, provisioned in zip((*claims.here, *claims.free), new, strict=True)
        ]
        return self._usages.scores(static, dynamic, length)

    def _rescue(
        self, claims: DelayedClaims, answer: DelayedBindingFit, at: Slots | slice
    ) -> dict[int, PodVolumes]:
        """Where greedy matching has left a claim without any volume, but others got one. Returns
        what the claims get there, by place in the answer."""
        rescued: dict[int, PodVolumes] = {}
        if not np.logical_or.reduce(answer.flags):
            return rescued
        for place in np.flatnonzero((answer.flags != 0) & (answer.statics > 0)).tolist():
            slot = place if isinstance(at, slice) else int(at[place])
            volumes = self.static_matching.assigned(claims, slot)
            if volumes is not None:
                answer.flags[place] = 0
                answer.statics[place] = len(volumes.static)
                answer.scores[place] = score(volumes, self._shape) if self._shape else 0
                rescued[place] = volumes
        return rescued


def _correct(
    matches: Sequence[_Matched], free: Sequence[DelayedClaim], rescued: Mapping[int, PodVolumes]
) -> None:
    """Let the matches be those of the assignment where greedy matching failed."""
    for place, volumes in rescued.items():
        bindings = list(volumes.static)
        for delayed, matched in zip(free, matches, strict=True):
            if matched.sizes is None:
                continue
            own = next((each for each in bindings if each.claim is delayed.claim), None)
            matched.sizes[place] = NOT_MATCHED
            if own is not None:
                # A claim that the pod names twice gets each of them once.
                bindings.remove(own)
                matched.sizes[place] = size_of(own.volume.spec.capacity).value


def _placed(
    asked: Sequence[DelayedClaim], matches: Sequence[_Matched], new: Sequence[ProvisioningFit]
) -> list[PlacedClaim]:
    """`matches` are those of the last of the claims, the others get new volumes anyway."""
    unmatched = [_Matched(None)] * (len(asked) - len(matches))
    return [
        PlacedClaim(
            delayed.request.class_name, delayed.request.size, matched.sizes, provisioned.capacities
        )
        for delayed, matched, provisioned in zip(asked, (*unmatched, *matches), new, strict=True)
    ]


def _are_same(tables: list[Cells], others: list[Cells]) -> bool:
    """Tables go when they are empty, and come again as others."""
    return len(tables) == len(others) and all(map(is_, tables, others))


def _changed(kept: _KeptAnswer) -> set[int] | None:
    """The slots to be judged again; None: all."""
    found: set[int] = set()
    for cells, (position, moves) in zip(kept.tables, kept.positions, strict=True):
        touched, moved = cells.log.since(position), cells.moves.since(moves)
        if touched is None or moved is None:
            return None
        found |= moved
        found.update(cells.slots_in(touched))
    return found


def _joined(new: Sequence[ProvisioningFit], matches: Sequence[_Matched]) -> Flags | None:
    """Why the first of the claims gets nothing; None: all of them get something everywhere."""
    flags: Flags | None = None
    for provisioned, matched in zip(new, matches, strict=True):
        blocked = provisioned.flags
        if blocked is None:
            continue
        if matched.sizes is not None:
            is_missing = matched.sizes == NOT_MATCHED
            if not np.logical_or.reduce(is_missing):
                continue
            blocked = np.where(is_missing, blocked, np.uint64(0))
        flags = blocked if flags is None else np.where(flags == 0, blocked, flags)
    return flags


def _no_answer() -> DelayedBindingFit:
    nothing = np.zeros(0, np.int64)
    return DelayedBindingFit(np.zeros(0, np.uint64), nothing, nothing, nothing)


def _write(answer: DelayedBindingFit, at: Slots, part: DelayedBindingFit) -> int:
    """Returns how many more nodes flags speak against."""
    more = int(np.count_nonzero(part.flags)) - int(np.count_nonzero(answer.flags.take(at)))
    answer.flags[at] = part.flags
    answer.statics[at] = part.statics
    answer.scores[at] = part.scores
    answer.keys[at] = part.keys
    if answer.placement is not None and part.placement is not None:
        answer.placement.values[:, at] = part.placement.values
    return more
