"""What a rule answers about one pod on all nodes at once: reasons against nodes, and a score.

`Judge` asks every `ColumnRule` in turn. A rule that has nothing to say about the pod answers None,
which costs nothing more. Scores are compared among nodes that will do, so they are worked out after
every rule has given its reasons.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from plimsoll.api.pods import Pod
from plimsoll.decide.scheduling.columns.nodes import Slots
from plimsoll.decide.scheduling.flags import AnyRule, Flags
from plimsoll.decide.scheduling.profiles.profile import DEFAULT_WEIGHTS, Profile, SchedulerPlugin
from plimsoll.decide.scheduling.reasons import Judgement


@dataclass(frozen=True, slots=True)
class Rejected:
    """No node will do, whatever it is like."""

    rule: AnyRule
    judgement: Judgement
    others: tuple[AnyRule, ...] = ()
    """Rules that it takes as well to leave no node."""

    @property
    def rules(self) -> tuple[AnyRule, ...]:
        return (self.rule, *self.others)


class RuleScore(Protocol):
    def weighted(self, is_feasible: NDArray[np.bool_]) -> NDArray[np.int64]:
        """By slot, from 0 to 100 times the rule's weight. Only feasible nodes count, and only
        their values are read."""
        ...


@dataclass(frozen=True, slots=True)
class BlockedNodes:
    """Nodes that a rule speaks against. Every decision needs to know which these are. The reasons,
    eight bytes for each node, are for pods that find no node and for explanations."""

    at: Sequence[Slots]
    """Their slots, some of them perhaps more than once."""
    masks: Sequence[NDArray[np.bool_]]
    """More of them, by slot."""
    find_flags: Callable[[], Flags]
    """To be called before the columns change."""

    def leave_out(self, is_feasible: NDArray[np.bool_]) -> None:
        """Of nodes that will do, which is written to."""
        for mask in self.masks:
            np.greater(is_feasible, mask, out=is_feasible)
        for slots in self.at:
            if len(slots):
                is_feasible[slots] = False


@dataclass(frozen=True, slots=True)
class RuleFit:
    blocked: BlockedNodes | None = None
    """None: nothing speaks against any node."""
    score: RuleScore | None = None
    """None: it makes no difference between nodes, or only a constant that is left out."""

    @classmethod
    def of_flags(cls, flags: Flags, score: RuleScore | None = None) -> "RuleFit":
        """Of a rule that has them at hand."""
        return cls(BlockedNodes((), (flags != 0,), lambda: flags), score)

    @property
    def flags(self) -> Flags | None:
        """By slot; None: nothing speaks against any node."""
        return None if self.blocked is None else self.blocked.find_flags()


class ColumnRule(Protocol):
    """Belongs to one set of columns, and may keep results between pods."""

    def judge(self, pod: Pod) -> RuleFit | Rejected | None: ...


def column_rules(
    profile: Profile, rules: Iterable[tuple[SchedulerPlugin, ColumnRule]]
) -> tuple[ColumnRule, ...]:
    """The rules as the profile wants them asked: those that neither refuse nor score are left out,
    and scores have the profile's weight instead of the usual one."""
    return tuple(_profiled(profile, plugin, rule) for plugin, rule in rules)


def _profiled(profile: Profile, plugin: SchedulerPlugin, rule: ColumnRule) -> ColumnRule:
    usual = DEFAULT_WEIGHTS.get(plugin, 0)
    if profile.asks_plugin(plugin) and profile.weights[plugin] == usual:
        return rule
    return ProfiledRule(rule, profile.asks_plugin(plugin), profile.weights[plugin], usual)


@dataclass(frozen=True, slots=True)
class ProfiledRule:
    """A rule that a profile has turned off in part, or weighs otherwise."""

    rule: ColumnRule
    refuses: bool
    weight: int
    usual_weight: int

    def judge(self, pod: Pod) -> RuleFit | Rejected | None:
        if not self.refuses and not self.weight:
            return None
        fit = self.rule.judge(pod)
        if not isinstance(fit, RuleFit):
            return fit if self.refuses else None
        score = fit.score and WeighedScore(fit.score, self.weight, self.usual_weight)
        return RuleFit(fit.blocked if self.refuses else None, score if self.weight else None)


@dataclass(frozen=True, slots=True)
class WeighedScore:
    score: RuleScore
    weight: int
    usual_weight: int

    def weighted(self, is_feasible: NDArray[np.bool_]) -> NDArray[np.int64]:
        # The usual weight is in it already.
        return self.score.weighted(is_feasible) // self.usual_weight * self.weight
