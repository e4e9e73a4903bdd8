"""No user grants more than they have."""

from hypothesis import given, strategies as st

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.attributes import AccessAttributes
from plimsoll.apiserver.access.rbac.escalation import FULL_AUTHORITY, MOST_PARTS, find_escalation
from plimsoll.apiserver.access.rbac.rules import (
    HeldRules,
    PolicyRule,
    covers_path,
    parse_rules,
    single_rules,
)
from plimsoll.apiserver.access.users import User
from tests.apiserver.access.rbac.policies import RULES, questions

ANN = User(name="ann", groups=("team", "system:authenticated"))


@given(held=RULES, wanted=RULES, asked=st.lists(questions(), max_size=20))
def test_what_may_be_granted_is_allowed_to_the_one_who_grants(
    held: list[Document], wanted: list[Document], asked: list[AccessAttributes]
) -> None:
    mine, theirs = parse_rules({"rules": held}), parse_rules({"rules": wanted})
    if find_escalation(ANN, mine, theirs) is None:
        for question in asked:
            if any(rule.allows(question) for rule in theirs):
                assert any(rule.allows(question) for rule in mine)


@given(rules=RULES)
def test_what_a_user_has_may_be_granted_whole(rules: list[Document]) -> None:
    held = parse_rules({"rules": rules})
    assert find_escalation(ANN, held, held) is None
    assert find_escalation(ANN, FULL_AUTHORITY, held) is None


def test_the_refusal_lists_what_is_missing() -> None:
    held = (PolicyRule(verbs=("get",), groups=("",), resources=("pods",)),)
    wanted = (
        PolicyRule(verbs=("get", "list", "watch"), groups=("",), resources=("pods",)),
        PolicyRule(verbs=("get",), paths=("/metrics",)),
    )
    assert find_escalation(ANN, held, wanted) == (
        'user "ann" (groups=["team" "system:authenticated"]) is attempting to grant RBAC '
        "permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}\n'
        '{NonResourceURLs:["/metrics"], Verbs:["get"]}'
    )


def test_a_rule_with_names_does_not_cover_all_names() -> None:
    one = PolicyRule(verbs=("get",), groups=("",), resources=("pods",), names=("a",))
    whole = PolicyRule(verbs=("get",), groups=("",), resources=("pods",))
    assert find_escalation(ANN, (one,), (whole,)) is not None
    assert find_escalation(ANN, (whole,), (one,)) is None


def test_rules_of_millions_of_combinations_are_refused_and_not_compared() -> None:
    many = tuple(map(str, range(1000)))
    wanted = (PolicyRule(verbs=many, groups=many, resources=many),)
    assert str(MOST_PARTS) in (find_escalation(ANN, FULL_AUTHORITY, wanted) or "")


def plainly_covers(held: PolicyRule, single: PolicyRule) -> bool:
    [verb] = single.verbs
    if verb not in held.verbs and "*" not in held.verbs:
        return False
    if single.paths:
        return any(covers_path(path, single.paths[0]) for path in held.paths)
    [group], [resource] = single.groups, single.resources
    _, slash, subresource = resource.partition("/")
    resources = {resource, "*", f"*/{subresource}" if slash else "*"}
    return (
        not {group, "*"}.isdisjoint(held.groups)
        and not resources.isdisjoint(held.resources)
        and (not held.names or (bool(single.names) and set(single.names) <= set(held.names)))
    )


@given(held=RULES, wanted=RULES)
def test_what_is_missing_is_what_no_rule_covers(
    held: list[Document], wanted: list[Document]
) -> None:
    mine, theirs = parse_rules({"rules": held}), parse_rules({"rules": wanted})

    assert HeldRules(mine).missing(theirs) == [
        single
        for rule in theirs
        for single in single_rules(rule)
        if not any(plainly_covers(each, single) for each in mine)
    ]


def test_rules_that_would_take_long_to_compare_are_refused() -> None:
    held = [
        PolicyRule(verbs=("get",), groups=("",), resources=("pods",), names=(f"pod-{number}",))
        for number in range(2000)
    ]
    verbs = tuple(f"verb-{number}" for number in range(2000))
    wanted = [PolicyRule(verbs=verbs, groups=("",), resources=("pods",))]

    assert "split them" in (find_escalation(ANN, held, wanted) or "")
