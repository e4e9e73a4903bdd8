"""Who may do what, asked of kube-apiserver and of the embedded server.

The roles that both begin with are compared. Then the same random roles and bindings are created on
both; every review, every write of a role as another user and every read must end alike.
"""

import contextlib
import http.client
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from conformance.step import Say, Servers
from plimsoll.api.registry import Document
from tests.servers import Endpoint

RBAC = "/apis/rbac.authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
BOOTSTRAP = "kubernetes.io/bootstrapping=rbac-defaults"
PLURALS = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")

ROUNDS, REVIEWED, GRANTED, READ = 6, 150, 30, 30
SEED = 11
SETTLED_SECONDS = 15
"""The real server's authorizer follows its own writes by watching."""

USERS = ("ann", "bob", "carol")
GROUPS = ("team", "others")
VERBS = ("get", "list", "watch", "create", "update", "delete", "bind", "escalate", "*")
API_GROUPS = ("", "apps", GROUP, "*")
RESOURCES = (
    "pods",
    "pods/log",
    "configmaps",
    "secrets",
    "deployments",
    "deployments/scale",
    "roles",
    "rolebindings",
    "*/scale",
    "*",
)
NAMES = ("one", "two", "three")
PATHS = ("/healthz", "/metrics", "/api/*", "/*", "*", "/logs/*")


class Client:
    """One connection, and the user that it acts as."""

    def __init__(self, endpoint: Endpoint, connection: http.client.HTTPSConnection) -> None:
        self._endpoint = endpoint
        self._connection = connection

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: str = "",
        groups: Sequence[str] = (),
    ) -> tuple[int, Document]:
        connection = self._connection
        connection.putrequest(method, path)
        for name, value in self._endpoint.headers().items():
            connection.putheader(name, value)
        if user:
            connection.putheader("Impersonate-User", user)
        for group in groups:
            connection.putheader("Impersonate-Group", group)
        content = b"" if body is None else json.dumps(body).encode()
        connection.putheader("Content-Length", str(len(content)))
        connection.endheaders(content)
        response = connection.getresponse()
        return response.status, json.loads(response.read())


@dataclass(frozen=True, slots=True)
class Both:
    real: Client
    embedded: Client

    def ask(self, method: str, path: str, body: Any = None, **who: Any) -> tuple[int, int]:
        return (
            self.real.ask(method, path, body, **who)[0],
            self.embedded.ask(method, path, body, **who)[0],
        )

    def create(self, path: str, body: Document) -> None:
        codes = self.ask("POST", path, body)
        assert codes == (201, 201), f"{path}: {codes} for {body}"


@contextlib.contextmanager
def both(servers: Servers) -> Iterator[Both]:
    with (
        contextlib.closing(servers.real.connect()) as real,
        contextlib.closing(servers.embedded.connect()) as embedded,
    ):
        yield Both(Client(servers.real, real), Client(servers.embedded, embedded))


def run(servers: Servers, say: Say) -> None:
    with both(servers) as clients:
        say("the roles and bindings that every cluster begins with")
        compare_bootstrap(clients)
        chance = Random(SEED)
        asked = 0
        for number in range(ROUNDS):
            say(f"random roles, round {number + 1} of {ROUNDS}")
            asked += Round(clients, chance, f"access-{SEED}-{number}").play()
        say(f"{asked} questions were answered alike")


def compare_bootstrap(clients: Both) -> None:
    for plural in PLURALS:
        path = f"{RBAC}/{plural}?labelSelector={BOOTSTRAP.replace('=', '%3D')}"
        found = [_essence(each.ask("GET", path)[1]) for each in (clients.real, clients.embedded)]
        missing = sorted(found[0].keys() ^ found[1].keys())
        assert not missing, f"{plural}: on one of the servers only: {missing}"
        for name, document in found[0].items():
            assert found[1][name] == document, f"{plural} {name}: {document} / {found[1][name]}"


def _essence(listed: Document) -> dict[str, Document]:
    """By namespace and name; rules that a controller gathers are left out."""
    found = {}
    for item in listed["items"]:
        meta = item["metadata"]
        kept = {key: value for key, value in item.items() if key not in ("kind", "apiVersion")}
        kept["metadata"] = {key: meta.get(key) for key in ("labels", "annotations")}
        if item.get("aggregationRule"):
            kept.pop("rules", None)
        found[f"{meta.get('namespace', '')}/{meta['name']}"] = kept
    return found


class Round:
    """Objects with names of their own, for a few users in two namespaces."""

    def __init__(self, clients: Both, chance: Random, name: str) -> None:
        self._both = clients
        self._chance = chance
        self._name = name
        self._namespaces = (f"{name}-red", f"{name}-blue")
        self._users = tuple(f"{name}-{user}" for user in USERS)
        self._groups = tuple(f"{name}-{group}" for group in GROUPS)

    def play(self) -> int:
        for namespace in self._namespaces:
            self._both.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        self._create_roles()
        self._create_bindings()
        self._compare_reviews()
        self._compare_grants()
        self._compare_reads()
        return REVIEWED + GRANTED + READ

    def _some(self, values: tuple[str, ...], most: int = 3) -> list[str]:
        return self._chance.sample(values, self._chance.randint(1, min(most, len(values))))

    def _rules(self, *, paths: bool) -> list[Document]:
        return [self._rule(paths=paths) for _ in range(self._chance.randint(1, 3))]

    def _rule(self, *, paths: bool) -> Document:
        if paths and self._chance.random() < 0.25:
            return {"verbs": self._some(VERBS), "nonResourceURLs": self._some(PATHS)}
        rule: Document = {
            "verbs": self._some(VERBS),
            "apiGroups": self._some(API_GROUPS),
            "resources": self._some(RESOURCES),
        }
        if self._chance.random() < 0.3:
            rule["resourceNames"] = self._some(NAMES)
        return rule

    def _create_roles(self) -> None:
        for each in NAMES:
            name = f"{self._name}-{each}"
            body = {"metadata": {"name": name}, "rules": self._rules(paths=True)}
            self._both.create(f"{RBAC}/clusterroles", body)
            for namespace in self._namespaces:
                body = {"metadata": {"name": name}, "rules": self._rules(paths=False)}
                self._both.create(f"{RBAC}/namespaces/{namespace}/roles", body)

    def _create_bindings(self) -> None:
        for number in range(6):
            namespace = self._chance.choice((*self._namespaces, ""))
            body = self._binding(f"{self._name}-{number}", namespace)
            self._both.create(self._bindings(namespace), body)

    def _bindings(self, namespace: str) -> str:
        if namespace:
            return f"{RBAC}/namespaces/{namespace}/rolebindings"
        return f"{RBAC}/clusterrolebindings"

    def _binding(self, name: str, namespace: str) -> Document:
        kind = self._chance.choice(("Role", "ClusterRole")) if namespace else "ClusterRole"
        role = f"{self._name}-{self._chance.choice((*NAMES, 'missing'))}"
        return {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role},
            "subjects": [self._subject() for _ in range(self._chance.randint(1, 2))],
        }

    def _subject(self) -> Document:
        match self._chance.randrange(3):
            case 0:
                return {
                    "kind": "Group",
                    "apiGroup": GROUP,
                    "name": self._chance.choice(self._groups),
                }
            case 1:
                namespace = self._chance.choice(self._namespaces)
                return {"kind": "ServiceAccount", "namespace": namespace, "name": "robot"}
            case _:
                return {"kind": "User", "apiGroup": GROUP, "name": self._chance.choice(self._users)}

    def _who(self) -> tuple[str, list[str]]:
        robots = [f"system:serviceaccount:{each}:robot" for each in self._namespaces]
        groups = self._some(self._groups) if self._chance.random() < 0.5 else []
        return self._chance.choice((*self._users, *robots)), groups

    def _review(self) -> Document:
        user, groups = self._who()
        spec: Document = {"user": user, "groups": groups}
        verb = self._chance.choice(VERBS)
        if self._chance.random() < 0.2:
            path = self._chance.choice(("/healthz", "/metrics", "/api/v1", "/logs/a", "/"))
            return spec | {"nonResourceAttributes": {"verb": verb, "path": path}}
        resource, _, subresource = self._chance.choice(RESOURCES).partition("/")
        asked = {
            "verb": verb,
            "group": self._chance.choice(API_GROUPS),
            "resource": resource,
            "subresource": subresource,
            "namespace": self._chance.choice((*self._namespaces, "", "default")),
            "name": self._chance.choice((*NAMES, "")),
        }
        return spec | {"resourceAttributes": asked}

    def _compare_reviews(self) -> None:
        for _ in range(REVIEWED):
            body = {"spec": self._review()}
            until = time.monotonic() + SETTLED_SECONDS
            while True:
                answers = [
                    each.ask("POST", REVIEWS, body)[1]["status"]
                    for each in (self._both.real, self._both.embedded)
                ]
                if answers[0]["allowed"] == answers[1]["allowed"]:
                    break
                assert time.monotonic() < until, f"{body}: real {answers[0]}, ours {answers[1]}"
                time.sleep(0.2)

    def _compare_grants(self) -> None:
        """Roles and bindings written by the users themselves: who escalates is refused alike."""
        for number in range(GRANTED):
            user, groups = self._who()
            namespace = self._chance.choice(self._namespaces)
            name = f"{self._name}-by-user-{number}"
            if self._chance.random() < 0.5:
                path = f"{RBAC}/namespaces/{namespace}/roles"
                body: Document = {"metadata": {"name": name}, "rules": self._rules(paths=False)}
            else:
                path, body = self._bindings(namespace), self._binding(name, namespace)
            path += "?dryRun=All"
            codes = self._both.ask("POST", path, body, user=user, groups=groups)
            assert codes[0] == codes[1], f"{user} {groups}: {codes} for POST {path} {body}"

    def _compare_reads(self) -> None:
        for _ in range(READ):
            user, groups = self._who()
            namespace = self._chance.choice((*self._namespaces, ""))
            place = f"namespaces/{namespace}/" if namespace else ""
            path = f"/api/v1/{place}{self._chance.choice(('pods', 'configmaps', 'secrets'))}"
            if namespace and self._chance.random() < 0.5:
                path += f"/{self._chance.choice(NAMES)}"
            elif self._chance.random() < 0.3:
                path += f"?fieldSelector=metadata.name%3D{self._chance.choice(NAMES)}"
            codes = self._both.ask("GET", path, user=user, groups=groups)
            assert codes[0] == codes[1], f"{user} {groups}: {codes} for GET {path}"
