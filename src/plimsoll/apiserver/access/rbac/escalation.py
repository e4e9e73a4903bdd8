"""No user grants more than they have: what a role or a binding would give that its writer lacks.

Pure. A role of many verbs and resources is never taken apart beyond `MOST_PARTS`: the writer of
such a role needs the verb `escalate`, or has to split it.
"""

from collections.abc import Iterable

from plimsoll.apiserver.access.rbac.rules import ALL, HeldRules, PolicyRule
from plimsoll.apiserver.access.users import User

MOST_PARTS = 5_000
MOST_COMPARISONS = 300_000
FULL_AUTHORITY = (
    PolicyRule(verbs=(ALL,), groups=(ALL,), resources=(ALL,)),
    PolicyRule(verbs=(ALL,), paths=(ALL,)),
)
AGGREGATION_REFUSED = "must have cluster-admin privileges to use the aggregationRule"


def find_escalation(
    user: User, held: Iterable[PolicyRule], wanted: Iterable[PolicyRule]
) -> str | None:
    """Why the user may not grant the wanted rules; None if all of them are held."""
    wanted = tuple(wanted)
    if parts(wanted) > MOST_PARTS:
        return f"the rules combine more than {MOST_PARTS} verbs, resources and names; split them"
    arranged = HeldRules(held)
    if arranged.effort(wanted) > MOST_COMPARISONS:
        return (
            f"it takes more than {MOST_COMPARISONS} steps to compare these rules with those that "
            "the user holds; split them"
        )
    missing = arranged.missing(wanted)
    if not missing:
        return None
    listed = "\n".join(sorted({described(rule) for rule in compacted(missing)}))
    groups = quoted(user.groups)
    return (
        f'user "{user.name}" (groups={groups}) is attempting to grant RBAC permissions not '
        f"currently held:\n{listed}"
    )


def parts(rules: Iterable[PolicyRule]) -> int:
    """How many rules of one verb and one resource these are."""
    return sum(
        len(rule.verbs)
        * (len(rule.groups) * len(rule.resources) * max(1, len(rule.names)) + len(rule.paths))
        for rule in rules
    )


def compacted(missing: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Rules for the same resource and name become one, with all of their verbs."""
    verbs: dict[PolicyRule, list[str]] = {}
    kept = []
    for rule in missing:
        if rule.paths:
            kept.append(rule)
            continue
        bare = PolicyRule(groups=rule.groups, resources=rule.resources, names=rule.names)
        verbs.setdefault(bare, []).extend(rule.verbs)
    return kept + [
        PolicyRule(
            verbs=tuple(several), groups=bare.groups, resources=bare.resources, names=bare.names
        )
        for bare, several in verbs.items()
    ]


def described(rule: PolicyRule) -> str:
    fields = {
        "APIGroups": rule.groups,
        "Resources": rule.resources,
        "NonResourceURLs": rule.paths,
        "ResourceNames": rule.names,
        "Verbs": rule.verbs,
    }
    told = [f"{field}:{quoted(values)}" for field, values in fields.items() if values]
    return "{" + ", ".join(told) + "}"


def quoted(values: Iterable[str]) -> str:
    return "[" + " ".join(f'"{value}"' for value in values) + "]"
