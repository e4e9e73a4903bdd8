"""Roles and bindings as an index, kept change by change: what a user may do costs one lookup.

Bindings are found by their subjects. Of each user that asks, the rules are collected once, and of
each kind of question the names that are allowed. Any change to a role or a binding drops what was
collected; it is collected anew when the user asks again.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.attributes import AccessAttributes
from plimsoll.apiserver.access.rbac.rules import PolicyRule, parse_rules
from plimsoll.apiserver.access.users import User, account_name

GROUP = "rbac.authorization.k8s.io"
ROLES, CLUSTER_ROLES = f"roles.{GROUP}", f"clusterroles.{GROUP}"
ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS = f"rolebindings.{GROUP}", f"clusterrolebindings.{GROUP}"
"""Names of the collections that hold them."""

MOST_USERS = 4096
MOST_QUESTIONS = 65_536
"""Of all users; what is remembered beyond that is dropped."""
LONGEST_QUESTION = 512
LONGEST_USER = 2048
"""In characters: what is longer is not remembered. No user without credentials, and no review, can
have the server keep much."""

RoleKey = tuple[str, str]
"""Namespace and name; the namespace of a ClusterRole is empty."""
Question = tuple[str | None, ...]
"""All that is asked for but the name of the object."""
Subject = tuple[str, str]
"""Kind and name; service accounts are users by their user name."""


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


@dataclass(slots=True)
class UserGrants:
    """What one user may do, and the answers that were given before."""

    grants: tuple[RoleGrant, ...]
    rules: dict[RoleKey, tuple[PolicyRule, ...]]
    count: Callable[[], None]
    """Told of each answer that is remembered."""
    names: dict[Question, frozenset[str] | None] = field(default_factory=dict)
    """By question, the names that are allowed; None: all."""

    def allows(self, asked: AccessAttributes) -> bool:
        question = (
            asked.verb,
            asked.group,
            asked.resource,
            asked.subresource,
            asked.namespace,
            asked.path,
        )
        try:
            names = self.names[question]
        except KeyError:
            names = self._learn(question, asked)
        return names is None or asked.name in names

    def _learn(self, question: Question, asked: AccessAttributes) -> frozenset[str] | None:
        concerned = [rule for _, rule in self.applying(asked.namespace) if rule.concerns(asked)]
        everything = any(not rule.names for rule in concerned)
        named = frozenset(name for rule in concerned for name in rule.names)
        names = None if everything else named
        if sum(map(len, filter(None, question))) <= LONGEST_QUESTION:
            self.names[question] = names
            self.count()
        return names

    def applying(self, namespace: str) -> Iterator[tuple[RoleGrant, PolicyRule]]:
        """The rules that hold in a namespace, or everywhere, with where they are from."""
        for grant in self.grants:
            if not grant.namespace or grant.namespace == namespace:
                for rule in self.rules.get(grant.role, ()):
                    yield grant, rule

    def missing_roles(self, namespace: str) -> list[str]:
        """Roles that are bound and do not exist."""
        return [
            grant.role_missing
            for grant in self.grants
            if grant.namespace in ("", namespace) and grant.role not in self.rules
        ]


class RoleIndex:
    def __init__(self) -> None:
        self.rules: dict[RoleKey, tuple[PolicyRule, ...]] = {}
        self._bindings: dict[RoleKey, tuple[Subject, ...]] = {}
        """By key of the binding, its subjects."""
        self._grants: dict[Subject, dict[RoleKey, RoleGrant]] = {}
        """By subject and key of the binding."""
        self._users: dict[tuple[str, tuple[str, ...]], UserGrants] = {}
        self._questions = 0

    def put(self, collection: str, key: RoleKey, document: Document | None) -> None:
        """A role or binding as it is from now on; None: it is gone."""
        if collection in (ROLES, CLUSTER_ROLES):
            if document is None:
                self.rules.pop(key, None)
            else:
                self.rules[key] = parse_rules(document)
        else:
            self._unbind(key)
            if document is not None:
                self._bind(key, document)
        self._forget()

    def _forget(self) -> None:
        self._users.clear()
        self._questions = 0

    def _count(self) -> None:
        self._questions += 1
        if self._questions > MOST_QUESTIONS:
            self._forget()

    def grants(self, user: User) -> UserGrants:
        who = (user.name, user.groups)
        found = self._users.get(who)
        if found is None:
            found = UserGrants(self._collected(user), self.rules, self._count)
            if len(user.name) + sum(map(len, user.groups)) <= LONGEST_USER:
                if len(self._users) >= MOST_USERS:
                    self._forget()
                self._users[who] = found
        return found

    def _collected(self, user: User) -> tuple[RoleGrant, ...]:
        subjects = [("User", user.name), *(("Group", group) for group in user.groups)]
        collected: dict[RoleKey, RoleGrant] = {}
        for subject in subjects:
            for key, grant in tuple(self._grants.get(subject, {}).items()):
                collected.setdefault(key, grant)
        return tuple(collected[key] for key in sorted(collected))

    def _bind(self, key: RoleKey, binding: Document) -> None:
        namespace, name = key
        role = binding.get("roleRef") or {}
        kind = role.get("kind", "")
        bound = []
        for subject, told in _subjects(binding.get("subjects") or (), namespace):
            held = self._grants.setdefault(subject, {})
            bound.append(subject)
            held.setdefault(
                key,
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
        for subject in self._bindings.pop(key, ()):
            held = self._grants.get(subject)
            if held is not None:
                held.pop(key, None)
                if not held:
                    del self._grants[subject]


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
