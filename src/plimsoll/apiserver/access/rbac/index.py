"""Roles and bindings as an index, kept change by change: what a user may do costs one lookup.

Bindings are found by their subjects and their namespace: what is granted in one namespace costs
those alone who ask about it, also where it is granted to all users. Of each user, the grants in a
namespace are collected once, and of each kind of question the names that are allowed. A change to a
role or a binding drops what was collected in its namespace, or all of it where it counts
everywhere; it is collected anew when the user asks again.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.attributes import AccessAttributes
from plimsoll.apiserver.access.rbac.role_rules import RoleRules
from plimsoll.apiserver.access.rbac.rules import PolicyRule
from plimsoll.apiserver.access.users import User, account_name

GROUP = "rbac.authorization.k8s.io"
ROLES, CLUSTER_ROLES = f"roles.{GROUP}", f"clusterroles.{GROUP}"
ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS = f"rolebindings.{GROUP}", f"clusterrolebindings.{GROUP}"
"""Names of the collections that hold them."""

MOST_QUESTIONS = 131_072
"""Of all users; what is remembered beyond that is dropped. What an answer is made of counts too:
each rule with names, and each binding that was collected for it."""
LONGEST_QUESTION = 512
LONGEST_USER = 2048
"""In characters: what is longer is not remembered. No user without credentials, and no review, can
have the server keep much."""

RoleKey = tuple[str, str]
"""Namespace and name; the namespace of a ClusterRole is empty."""
Question = tuple[str | None, ...]
"""All that is asked for in a namespace but the name of the object."""
Subject = tuple[str, str]
"""Kind and name; service accounts are users by their user name."""
Who = tuple[str, tuple[str, ...]]
"""Name and groups of a user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleGrant:
    """One binding, as far as one user is concerned."""

    binding: str
    namespace: str
    """Empty: it grants the role everywhere."""
    role_kind: str
    role: RoleKey
    subject: str
    """How a review names the subject that the user is."""

    @property
    def source(self) -> str:
        if self.namespace:
            called = f'RoleBinding "{self.binding}/{self.namespace}"'
        else:
            called = f'ClusterRoleBinding "{self.binding}"'
        return f'{called} of {self.role_kind} "{self.role[1]}" to {self.subject}'

    @property
    def role_missing(self) -> str:
        return f'{self.role_kind.lower()}.{GROUP} "{self.role[1]}" not found'


Names = tuple[frozenset[str], ...] | None
"""Of objects, as the rules have them that were found; None: of all objects."""


class PlaceGrants:
    """What one user may do in one namespace, or everywhere, and the answers given before."""

    def __init__(
        self,
        grants: tuple[RoleGrant, ...],
        rules: dict[RoleKey, RoleRules],
        count: Callable[[int], None],
    ) -> None:
        """`count` is told how much each answer is that is remembered."""
        self._grants = grants
        self._rules = rules
        self._count = count
        self.names: dict[Question, Names] = {}

    def allows(self, asked: AccessAttributes) -> bool:
        question = (
            asked.verb,
            asked.group,
            asked.resource,
            asked.subresource,
            asked.path,
        )
        try:
            found = self.names[question]
        except KeyError:
            found = self._learn(question, asked)
        return found is None or any(asked.name in names for names in found)

    def _learn(self, question: Question, asked: AccessAttributes) -> Names:
        found: list[frozenset[str]] = []
        learnt: Names = None
        for role in dict.fromkeys(grant.role for grant in self._grants):
            rules = self._rules.get(role)
            found += () if rules is None else rules.names(asked)
        if all(found):
            learnt = tuple(found)
        if sum(map(len, filter(None, question))) + len(asked.namespace) <= LONGEST_QUESTION:
            self.names[question] = learnt
            self._count(1 + len(learnt or ()))
        return learnt

    def allowing(self, asked: AccessAttributes) -> Iterator[RoleGrant]:
        """Those by which it is allowed, in their order."""
        for grant in self._grants:
            rules = self._rules.get(grant.role)
            if rules is not None and any(rules.allowing(asked)):
                yield grant

    def rules(self) -> Iterator[PolicyRule]:
        """All that hold there."""
        for grant in self._grants:
            yield from self._rules.get(grant.role, ())

    def missing_roles(self) -> list[str]:
        """Roles that are bound and do not exist."""
        return [grant.role_missing for grant in self._grants if grant.role not in self._rules]


class RoleIndex:
    def __init__(self) -> None:
        self.rules: dict[RoleKey, RoleRules] = {}
        self._bindings: dict[RoleKey, tuple[Subject, ...]] = {}
        """By key of the binding, its subjects."""
        self._grants: dict[Subject, dict[str, dict[str, RoleGrant]]] = {}
        """By subject, and by namespace and name of the binding."""
        self._places: dict[str, dict[Who, PlaceGrants]] = {}
        """By namespace; of all users that asked about it."""
        self._changes = 0
        self._questions = 0

    def put(self, collection: str, key: RoleKey, document: Document | None) -> None:
        """A role or binding as it is from now on; None: it is gone."""
        if collection in (ROLES, CLUSTER_ROLES):
            if document is None:
                self.rules.pop(key, None)
            else:
                self.rules[key] = RoleRules(document)
        else:
            self._unbind(key)
            if document is not None:
                self._bind(key, document)
        # Before anything is forgotten: what another thread collects meanwhile is not kept.
        self._changes += 1
        self._forget(key[0])

    def _forget(self, namespace: str = "") -> None:
        """What counts in the namespace; the empty one: all of it."""
        if namespace:
            self._places.pop(namespace, None)
        else:
            self._places.clear()
            self._questions = 0

    def _count(self, number: int) -> None:
        self._questions += number
        if self._questions > MOST_QUESTIONS:
            self._forget()

    def grants(self, user: User, namespace: str) -> PlaceGrants:
        who = (user.name, user.groups)
        found = self._places.get(namespace, {}).get(who)
        if found is None:
            changes = self._changes
            grants = self._collected(user, namespace)
            self._count(1 + len(grants))
            found = PlaceGrants(grants, self.rules, self._count)
            if len(namespace) + len(user.name) + sum(map(len, user.groups)) <= LONGEST_USER:
                self._keep(namespace, who, found, changes)
        return found

    def _keep(self, namespace: str, who: Who, found: PlaceGrants, changes: int) -> None:
        place = self._places.setdefault(namespace, {})
        place[who] = found
        if self._changes != changes:
            place.pop(who, None)

    def _collected(self, user: User, namespace: str) -> tuple[RoleGrant, ...]:
        """Those that count everywhere first, and in the order of the bindings' names."""
        subjects = [("User", user.name), *(("Group", group) for group in user.groups)]
        places = ("", namespace) if namespace else ("",)
        return tuple(grant for place in places for grant in self._within(place, subjects))

    def _within(self, namespace: str, subjects: Iterable[Subject]) -> Iterator[RoleGrant]:
        collected: dict[str, RoleGrant] = {}
        for subject in subjects:
            for name, grant in tuple(self._grants.get(subject, {}).get(namespace, {}).items()):
                collected.setdefault(name, grant)
        return (collected[name] for name in sorted(collected))

    def _bind(self, key: RoleKey, binding: Document) -> None:
        namespace, name = key
        role = binding.get("roleRef") or {}
        kind = role.get("kind", "")
        bound = []
        for subject, told in _subjects(binding.get("subjects") or (), namespace):
            held = self._grants.setdefault(subject, {}).setdefault(namespace, {})
            bound.append(subject)
            held.setdefault(
                name,
                RoleGrant(
                    binding=name,
                    namespace=namespace,
                    role_kind=kind,
                    role=(namespace if kind == "Role" else "", role.get("name", "")),
                    subject=told,
                ),
            )
        self._bindings[key] = tuple(bound)

    def _unbind(self, key: RoleKey) -> None:
        namespace, name = key
        for subject in self._bindings.pop(key, ()):
            held = self._grants.get(subject, {})
            bound = held.get(namespace, {})
            bound.pop(name, None)
            if not bound:
                held.pop(namespace, None)
            if not held:
                self._grants.pop(subject, None)


def _subjects(subjects: Iterable[Document], namespace: str) -> Iterator[tuple[Subject, str]]:
    """With how a review names each."""
    for subject in subjects:
        kind, name = subject.get("kind", ""), subject.get("name", "")
        if kind in ("User", "Group"):
            yield (kind, name), f'{kind} "{name}"'
        elif kind == "ServiceAccount":
            home = subject.get("namespace") or namespace
            if home:
                yield ("User", account_name(home, name)), f'{kind} "{name}/{home}"'
