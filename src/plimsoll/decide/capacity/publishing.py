"""Everything a publisher knows: what must be published, what is, and what to ask the driver next.

The state is a value in memory. Its methods are transitions: something was observed, something
happened to a volume, the driver has answered. They do no I/O; the process does, with any number of
workers:

    publisher.catch_up(now)                      after each batch of observed changes
    pair = publisher.take()                      the next pair of segment and class, if any is due
    question = publisher.question(pair)          to be sent to the driver; None: no longer wanted
    pairs = publisher.take_alike(pair)           others that wait for an answer to the same question
    plan = publisher.answered(pair, answer, now)  with the pools, where the driver lists them
    …                                            enact it; put_object() what the server gave back,
                                                 remove_object() what it does not have any more
    publisher.finish(pair, now)                  for each pair taken, whatever happened on the way
    publisher.ask(pair)                          later, if the driver or the server refused
    publisher.decide_removals(now)               objects that are wanted no longer

Guarantees: a pair waits at most once, however often it is asked for, and is asked by one worker at
a time; what is asked for meanwhile is asked once more after that. So the work that waits is never
more than segments times classes. Objects without the publisher's labels are never touched.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.storage import IMMEDIATE, CSINode, CSIStorageCapacity, StorageClass
from plimsoll.api.volumes import PersistentVolume, VolumeNodeAffinity
from plimsoll.decide.capacity.names import CAPACITIES
from plimsoll.decide.capacity.published import Pair, PublishedCapacity
from plimsoll.decide.capacity.reports import (
    CapacityAnswer,
    CapacityReason,
    CapacitySettings,
    PublishingPolicy,
    about_segment,
    believed,
    decide_report,
    is_told,
)
from plimsoll.decide.capacity.rounds import Rounds
from plimsoll.decide.capacity.segments import (
    NodeSegments,
    Segment,
    SegmentChange,
    exact_segments,
    reachable_segments,
    segment_of,
)
from plimsoll.decide.capacity.tokens import CapacityToken, find_token
from plimsoll.decide.plan import NOTHING, Delete, Plan


@dataclass(frozen=True, slots=True)
class CapacityQuestion:
    """What GetCapacity is asked."""

    parameters: Mapping[str, str]
    """Of the class, as they are."""
    topology: Mapping[str, str]


class CapacityCounts(NamedTuple):
    desired_goal: int
    """Objects that should exist."""
    desired_current: int
    """Of these, objects that do exist."""
    obsolete: int
    """Objects that exist and are about a class or segment that is gone."""


class Publisher:
    def __init__(
        self, settings: CapacitySettings, *, local_topology: Mapping[str, str] | None = None
    ) -> None:
        """With a local topology the publisher speaks for this segment alone, whatever nodes say."""
        self.settings = settings
        self._is_local = local_topology is not None
        self._nodes = NodeSegments(settings.driver)
        self._segments: dict[Segment, None] = {}
        self._classes: dict[str, StorageClass] = {}
        self._published = PublishedCapacity()
        self._rounds = Rounds()
        self._owed: dict[Pair, CapacityToken] = {}
        """Tokens of volumes that no object shows counted in yet."""
        self._recorded: dict[VolumeNodeAffinity | None, CapacityToken] = {}
        """The newest token of the volumes that are there: of the pairs that they take capacity of,
        some may become known later."""
        if local_topology is not None:
            self._segments[segment_of(local_topology)] = None

    # What is observed

    def put_node(self, node: Node) -> None:
        if not self._is_local:
            self._nodes.put_node(node)

    def remove_node(self, name: str) -> None:
        self._nodes.remove_node(name)

    def put_csi_node(self, csi_node: CSINode) -> None:
        if not self._is_local:
            self._nodes.put_csi_node(csi_node)

    def remove_csi_node(self, name: str) -> None:
        self._nodes.remove_csi_node(name)

    def put_class(self, storage_class: StorageClass, now: datetime) -> None:
        self._classes[storage_class.name] = storage_class
        pairs = self._pairs_of_class(storage_class.name)
        if self._is_wanted(storage_class):
            self._want(pairs)
        elif self.settings.policy is not PublishingPolicy.COMPATIBLE:
            # A class cannot be changed so, only made anew; csi-provisioner does not notice.
            self._drop(pairs, now)

    def remove_class(self, name: str, now: datetime) -> None:
        if self._classes.pop(name, None) is not None:
            self._drop(self._pairs_of_class(name), now)

    def put_object(self, object_: CSIStorageCapacity, now: datetime) -> None:
        """An object was seen, or is what the server answered to a write of ours."""
        if not self._is_ours(object_):
            self.remove_object(object_.key, object_.uid)
            return
        pair = self._published.put(object_, now)
        report = self._rounds.report_of(pair) if pair is not None else None
        is_changed = report is not None and not is_told(object_, report, self.settings.policy)
        if (
            pair is not None
            and is_changed
            and self.settings.policy is not PublishingPolicy.COMPATIBLE
        ):
            self.ask(pair)

    def remove_object(self, key: ObjectKey, uid: str = "") -> None:
        """It is gone, or lost its labels; if it is still needed, another is made."""
        pair = self._published.remove(key, uid)
        if pair is not None:
            self.ask(pair)

    def put_volume(self, volume: PersistentVolume) -> None:
        """A volume was recorded, or is found recorded. Where it may have taken capacity, its token
        is to be reached, whatever becomes of the numbers."""
        token = find_token(volume.annotations)
        if token is None or self.settings.policy is PublishingPolicy.COMPATIBLE:
            return
        affinity = volume.spec.node_affinity
        self._recorded[affinity] = max(token, self._recorded.get(affinity, token))
        self._owe(dict.fromkeys(self._pairs_reached_by(affinity), token))

    def _owe(self, tokens: Mapping[Pair, CapacityToken]) -> None:
        """Have these tokens reached by their pairs, and by all that share pools with them."""
        for pair, token in self._published.sharing_tokens(tokens).items():
            existing = self._published.current(pair)
            told = find_token(existing.annotations) if existing is not None else None
            if pair in self._published and (told is None or told < token):
                self._owed[pair] = max(token, self._owed.get(pair, token))
                self.ask(pair)

    def catch_up(self, now: datetime) -> SegmentChange:
        """Act on what nodes have gained and lost since the last call."""
        change = self._nodes.take_change()
        for segment in change.added:
            self._segments[segment] = None
        self._want(
            Pair(segment, each.name)
            for segment in change.added
            for each in self._classes.values()
            if self._is_wanted(each)
        )
        for segment in change.removed:
            self._segments.pop(segment, None)
        self._drop((Pair(s, name) for s in change.removed for name in self._classes), now)
        return change

    # What happens

    def poll(self, now: datetime) -> None:
        """It is time to look at everything."""
        self._rounds.begin(self._published.pairs, now)

    def provisioned(self, volume: PersistentVolume) -> None:
        self._capacity_changed(volume)

    def expanded(self, volume: PersistentVolume) -> None:
        self._capacity_changed(volume)

    def snapshotted(self, volume: PersistentVolume | None) -> None:
        """A snapshot of it was made or deleted. None: the volume is gone, or was never recorded,
        and nothing tells where the snapshot is."""
        if volume is None:
            self._ask_all(self._pairs_reached_by(None))
        else:
            self._capacity_changed(volume)

    def deleted(self, volume: PersistentVolume) -> None:
        has_place = volume.spec.node_affinity is not None
        if has_place or self.settings.policy is not PublishingPolicy.COMPATIBLE:
            self._capacity_changed(volume)

    def refused(self, storage_class: str) -> None:
        """A volume was refused: what is published for the class may be wrong anywhere."""
        self._ask_all(self._pairs_of_class(storage_class))

    def undone(self, storage_class: str) -> None:
        """A volume of the class that was never recorded is gone. It is not known where it was, and
        other classes may have their volumes there as well."""
        if self.settings.policy is PublishingPolicy.COMPATIBLE:
            self.refused(storage_class)
        else:
            self._ask_all(self._pairs_reached_by(None))

    # What is asked

    def ask(self, pair: Pair) -> None:
        if pair in self._published:
            self._rounds.ask(pair)

    def take(self) -> Pair | None:
        """The pair that has waited longest. No other worker gets it before `finish`."""
        return self._rounds.take()

    def question(self, pair: Pair) -> CapacityQuestion | None:
        storage_class = self._classes.get(pair.storage_class)
        if storage_class is None or pair not in self._published:
            return None
        return CapacityQuestion(storage_class.parameters, dict(pair.segment))

    def take_alike(self, pair: Pair) -> list[Pair]:
        """Pairs of the segment whose classes have the same parameters, and which wait as well: one
        answer is as true for all of them. They are taken as by `take`."""
        question = self.question(pair)
        if question is None:
            return []
        alike = (
            Pair(pair.segment, each.name)
            for each in self._classes.values()
            if each.parameters == question.parameters
        )
        return [each for each in alike if each != pair and self._rounds.take_this(each)]

    def answered(self, pair: Pair, answer: CapacityAnswer, now: datetime) -> Plan:
        if pair not in self._published:
            return NOTHING
        answer = believed(answer, self.settings.policy)
        self._rounds.answered(pair, answer, now)
        owed = self._owed.get(pair)
        if owed is not None and answer.token is not None and answer.token >= owed:
            del self._owed[pair]
        existing = self._published.current(pair)
        return decide_report(existing, answer, about_segment(*pair), self.settings, owed=owed)

    def unanswered(self, pair: Pair, owed: CapacityToken | None = None) -> None:
        """The driver gave no answer, or its answer with the token `owed` could not be written. The
        old number stays: it is the best there is."""
        if owed is not None:
            self._owed[pair] = max(owed, self._owed.get(pair, owed))
        if pair in self._published:
            self._rounds.unanswered(pair)

    def finish(self, pair: Pair, now: datetime) -> None:
        self._rounds.finish(pair, now)

    @property
    def waiting(self) -> int:
        """How many pairs are to be asked."""
        return self._rounds.waiting

    @property
    def rounds(self) -> Rounds:
        return self._rounds

    # What is told

    def decide_removals(self, now: datetime) -> Plan:
        """Delete what is wanted no longer; look again when the grace of the next one ends."""
        writes, later = [], []
        for object_, since in self._published.obsolete():
            left = self.settings.grace - (now - since) if self._may_return(object_) else None
            if left is not None and left.total_seconds() > 0:
                later.append(left)
            elif not object_.is_being_deleted:
                writes.append(Delete(resource=CAPACITIES, key=object_.key, uid=object_.uid))
        if not writes and not later:
            return NOTHING
        recheck = min(later, default=None)
        return Plan(reason=CapacityReason.REMOVED, writes=tuple(writes), recheck_after=recheck)

    @property
    def metrics(self) -> CapacityCounts:
        return CapacityCounts(len(self._published), self._published.count, self._published.strays)

    def _may_return(self, object_: CSIStorageCapacity) -> bool:
        """Only its segment is missing, as it is while a driver restarts."""
        pair = self._published.pair_of(object_)
        if pair is None or pair.segment in self._segments:
            return False
        storage_class = self._classes.get(pair.storage_class)
        return storage_class is not None and self._is_wanted(storage_class)

    def _is_ours(self, object_: CSIStorageCapacity) -> bool:
        return object_.namespace == self.settings.namespace and all(
            object_.labels.get(name) == value for name, value in self.settings.labels.items()
        )

    def _is_wanted(self, storage_class: StorageClass) -> bool:
        binds_at_once = storage_class.volume_binding_mode == IMMEDIATE
        return storage_class.provisioner == self.settings.driver and (
            self.settings.for_immediate_binding or not binds_at_once
        )

    def _pairs_of_class(self, name: str) -> Iterable[Pair]:
        return [Pair(segment, name) for segment in self._segments]

    def _want(self, pairs: Iterable[Pair]) -> None:
        wanted = [*pairs]
        for pair in wanted:
            self._published.want(pair)
            self._rounds.ask(pair)
        self._owe(self._recorded_in({pair.segment for pair in wanted}))

    def _recorded_in(self, segments: set[Segment]) -> dict[Pair, CapacityToken]:
        """The newest token of the volumes that reach into these segments, by pair."""
        tokens: dict[Pair, CapacityToken] = {}
        for affinity, token in self._recorded.items():
            if segments and self._reaches_into(affinity, segments):
                for pair in self._pairs_reached_by(affinity):
                    tokens[pair] = max(token, tokens.get(pair, token))
        return tokens

    def _reaches_into(self, affinity: VolumeNodeAffinity | None, segments: set[Segment]) -> bool:
        if affinity is None:
            return True
        exact = [s for s in exact_segments(affinity) if s in self._segments]
        return any(s in segments for s in exact or reachable_segments(affinity, segments))

    def _drop(self, pairs: Iterable[Pair], now: datetime) -> None:
        for pair in pairs:
            self._published.drop(pair, now)
            self._rounds.drop(pair)
            self._owed.pop(pair, None)

    def _ask_all(self, pairs: Iterable[Pair]) -> None:
        for pair in pairs:
            self.ask(pair)

    def _capacity_changed(self, volume: PersistentVolume) -> None:
        """All classes where the volume is, and wherever else its pool is reached from."""
        affinity = volume.spec.node_affinity
        if self.settings.policy is not PublishingPolicy.COMPATIBLE:
            self._ask_all(self._published.sharing(self._pairs_reached_by(affinity)))
        elif affinity is None:
            self.refused(volume.spec.storage_class_name)
        else:
            segments = self._segments_of(affinity)
            self._ask_all(Pair(segment, name) for segment in segments for name in self._classes)

    def _pairs_reached_by(self, affinity: VolumeNodeAffinity | None) -> Iterable[Pair]:
        """All classes where a volume is; if that is not known, everywhere."""
        segments = [] if affinity is None else self._segments_of(affinity)
        return [Pair(s, name) for s in segments or self._segments for name in self._classes]

    def _segments_of(self, affinity: VolumeNodeAffinity) -> list[Segment]:
        exact = [s for s in exact_segments(affinity) if s in self._segments]
        if exact or self.settings.policy is PublishingPolicy.COMPATIBLE:
            return exact
        return list(reachable_segments(affinity, self._segments))
