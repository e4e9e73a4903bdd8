"""Random roles, bindings and questions, from few names so that they often meet."""

from typing import Any

from hypothesis import strategies as st

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.attributes import AccessAttributes
from plimsoll.apiserver.access.users import User

NAMESPACES = ("red", "blue")
VERBS = ("get", "list", "create", "*")
GROUPS = ("", "apps", "*")
RESOURCES = ("pods", "pods/log", "deployments", "deployments/scale", "*/scale", "*")
NAMES = ("a", "b")
PATHS = ("/healthz", "/healthz/a", "/api/*", "/*", "*", "/met*")
USERS = ("ann", "bob", "system:serviceaccount:red:robot")
USER_GROUPS = ("team", "others")


def some(values: tuple[str, ...], least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=least, max_size=3, unique=True)


RESOURCE_RULES = st.fixed_dictionaries(
    {"verbs": some(VERBS), "apiGroups": some(GROUPS), "resources": some(RESOURCES)},
    optional={"resourceNames": some(NAMES)},
)
PATH_RULES = st.fixed_dictionaries({"verbs": some(VERBS), "nonResourceURLs": some(PATHS)})
RULES = st.lists(RESOURCE_RULES | PATH_RULES, max_size=3)

SUBJECTS = st.lists(
    st.one_of(
        st.fixed_dictionaries({"kind": st.just("User"), "name": st.sampled_from(USERS)}),
        st.fixed_dictionaries({"kind": st.just("Group"), "name": st.sampled_from(USER_GROUPS)}),
        st.fixed_dictionaries(
            {"kind": st.just("ServiceAccount"), "name": st.just("robot")},
            optional={"namespace": st.sampled_from(NAMESPACES)},
        ),
    ),
    max_size=2,
)


@st.composite
def policies(draw: st.DrawFn) -> list[tuple[str, Document]]:
    """(plural, document): roles first."""
    made: list[tuple[str, Document]] = []
    for name in ("one", "two"):
        made.append(("clusterroles", {"metadata": {"name": name}, "rules": draw(RULES)}))
        place = {"name": name, "namespace": draw(st.sampled_from(NAMESPACES))}
        made.append(("roles", {"metadata": place, "rules": draw(RULES)}))
    number = draw(st.integers(0, 4))
    return made + [draw(bindings(f"binding-{each}")) for each in range(number)]


@st.composite
def bindings(draw: st.DrawFn, name: str) -> tuple[str, Document]:
    role = draw(st.sampled_from(("one", "two", "missing")))
    namespace = draw(st.sampled_from(("", *NAMESPACES)))
    kind = draw(st.sampled_from(("Role", "ClusterRole"))) if namespace else "ClusterRole"
    meta: Document = {"name": name} | ({"namespace": namespace} if namespace else {})
    group = "rbac.authorization.k8s.io"
    document = {
        "metadata": meta,
        "roleRef": {"apiGroup": group, "kind": kind, "name": role},
        "subjects": draw(SUBJECTS),
    }
    return ("rolebindings" if namespace else "clusterrolebindings", document)


USER = st.builds(
    lambda name, groups: User(name=name, groups=tuple(groups)),
    st.sampled_from((*USERS, "nobody")),
    some(USER_GROUPS, least=0),
)


@st.composite
def questions(draw: st.DrawFn) -> AccessAttributes:
    verb = draw(st.sampled_from(("get", "list", "create", "delete")))
    if draw(st.booleans()):
        path = draw(st.sampled_from(("/healthz", "/healthz/a", "/api/v1", "/metrics", "")))
        return AccessAttributes(verb=verb, path=path)
    resource, _, subresource = draw(
        st.sampled_from(("pods", "pods/log", "deployments", "deployments/scale", "jobs/scale"))
    ).partition("/")
    return AccessAttributes(
        verb=verb,
        group=draw(st.sampled_from(("", "apps", "batch"))),
        resource=resource,
        subresource=subresource,
        namespace=draw(st.sampled_from(("", *NAMESPACES, "green"))),
        name=draw(st.sampled_from(("", "a", "c"))),
    )


def plain_answer(policy: list[tuple[str, Document]], user: User, asked: AccessAttributes) -> bool:
    """What Kubernetes' documentation says, rule by rule; nothing is indexed or remembered."""
    return any(
        _rule_allows(rule, asked)
        for plural, binding in policy
        if "bindings" in plural and _binds(binding, user, asked.namespace)
        for rule in _rules(policy, binding)
    )


def _binds(binding: Document, user: User, namespace: str) -> bool:
    home = binding["metadata"].get("namespace", "")
    return home in ("", namespace) and any(
        _is_subject(subject, user, home) for subject in binding["subjects"]
    )


def _is_subject(subject: Document, user: User, home: str) -> bool:
    if subject["kind"] == "User":
        return bool(subject["name"] == user.name)
    if subject["kind"] == "Group":
        return subject["name"] in user.groups
    place = subject.get("namespace") or home
    return bool(place) and user.name == f"system:serviceaccount:{place}:{subject['name']}"


def _rules(policy: list[tuple[str, Document]], binding: Document) -> list[Document]:
    ref = binding["roleRef"]
    wanted = {"name": ref["name"]}
    if ref["kind"] == "Role":
        wanted["namespace"] = binding["metadata"]["namespace"]
    plural = ref["kind"].lower() + "s"
    return [
        rule
        for p, role in policy
        if (p, role["metadata"]) == (plural, wanted)
        for rule in role["rules"]
    ]


def _rule_allows(rule: Document, asked: AccessAttributes) -> bool:
    def has(field: str, *values: Any) -> bool:
        return any(value in rule.get(field, ()) for value in ("*", *values))

    if asked.path is not None:
        urls = rule.get("nonResourceURLs", ())
        matching = [
            u for u in urls if u == asked.path or (u[-1:] == "*" and asked.path.startswith(u[:-1]))
        ]
        return has("verbs", asked.verb) and bool(matching)
    subresource = (f"*/{asked.subresource}",) if asked.subresource else ()
    names = rule.get("resourceNames", ())
    return (
        has("verbs", asked.verb)
        and has("apiGroups", asked.group)
        and has("resources", asked.full_resource, *subresource)
        and (not names or asked.name in names)
    )
