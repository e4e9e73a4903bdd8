"""The index says what a plain reading of all roles and bindings says, after every change."""

from hypothesis import given, strategies as st

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.attributes import AccessAttributes
from plimsoll.apiserver.access.authorizer import RbacAuthorizer
from plimsoll.apiserver.access.rbac.index import GROUP, MOST_QUESTIONS, RoleIndex
from plimsoll.apiserver.access.users import User
from tests.apiserver.access.rbac.policies import USER, plain_answer, policies, questions


def put(index: RoleIndex, plural: str, document: Document, *, gone: bool = False) -> None:
    meta = document["metadata"]
    key = (meta.get("namespace", ""), meta["name"])
    index.put(f"{plural}.{GROUP}", key, None if gone else document)


def indexed(policy: list[tuple[str, Document]]) -> RoleIndex:
    index = RoleIndex()
    for plural, document in policy:
        put(index, plural, document)
    return index


@given(policy=policies(), asked=st.lists(st.tuples(USER, questions()), min_size=1, max_size=6))
def test_the_index_answers_as_a_plain_reading_does(
    policy: list[tuple[str, Document]], asked: list[tuple[User, AccessAttributes]]
) -> None:
    authorizer = RbacAuthorizer(indexed(policy))
    for user, question in asked * 2:
        expected = plain_answer(policy, user, question)
        assert authorizer.allows(user, question) is expected
        assert authorizer.explain(user, question).allowed is expected


@given(policy=policies(), user=USER, question=questions(), data=st.data())
def test_what_was_asked_before_is_forgotten_with_every_change(
    policy: list[tuple[str, Document]], user: User, question: AccessAttributes, data: st.DataObject
) -> None:
    index = indexed(policy)
    authorizer = RbacAuthorizer(index)
    while policy:
        authorizer.allows(user, question)
        plural, document = policy.pop(data.draw(st.integers(0, len(policy) - 1)))
        put(index, plural, document, gone=True)
        assert authorizer.allows(user, question) is plain_answer(policy, user, question)


def test_a_review_says_which_binding_allows_and_which_role_is_missing() -> None:
    index = RoleIndex()
    subjects = [{"kind": "ServiceAccount", "name": "robot"}]
    binding: Document = {
        "metadata": {"name": "b", "namespace": "red"},
        "roleRef": {"kind": "Role", "name": "r"},
        "subjects": subjects,
    }
    put(index, "rolebindings", binding)
    robot = User(name="system:serviceaccount:red:robot")
    question = AccessAttributes(verb="get", resource="pods", namespace="red")
    authorizer = RbacAuthorizer(index)
    missing = authorizer.explain(robot, question)
    assert (missing.allowed, missing.reason) == (
        False,
        'RBAC: role.rbac.authorization.k8s.io "r" not found',
    )
    rules = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
    put(index, "roles", {"metadata": {"name": "r", "namespace": "red"}, "rules": rules})
    allowed = authorizer.explain(robot, question)
    assert allowed.allowed
    assert allowed.reason == (
        'RBAC: allowed by RoleBinding "b/red" of Role "r" to ServiceAccount "robot/red"'
    )


def test_long_questions_and_long_names_are_not_remembered() -> None:
    index = RoleIndex()
    authorizer = RbacAuthorizer(index)
    long = "x" * 60_000
    asked = AccessAttributes(verb="get", resource="pods", namespace=long)

    assert not authorizer.allows(User(name="ann"), asked)
    assert index.grants(User(name="ann"), long).names == {}
    assert not authorizer.allows(User(name="ann", groups=(long,)), asked)
    stranger = User(name="ann", groups=(long,))
    assert index.grants(stranger, "red") is not index.grants(stranger, "red")


def test_no_more_than_a_number_of_answers_is_remembered_for_all_users() -> None:
    index = RoleIndex()
    authorizer = RbacAuthorizer(index)
    for number in range(MOST_QUESTIONS + 10):
        asked = AccessAttributes(verb="get", resource="pods", namespace=f"n-{number}")
        authorizer.allows(User(name=f"user-{number % 7}"), asked)

    remembered = [
        index.grants(User(name=f"user-{number % 7}"), f"n-{number}").names
        for number in range(MOST_QUESTIONS // 2 - 100)
    ]
    assert sum(map(len, remembered)) < 100


def test_what_is_granted_in_one_namespace_is_not_looked_at_in_another() -> None:
    index = RoleIndex()
    all_users = {"kind": "Group", "name": "system:authenticated"}
    for number in range(100):
        meta = {"name": f"b-{number}", "namespace": "red"}
        role = {"kind": "ClusterRole", "name": "view"}
        put(index, "rolebindings", {"metadata": meta, "roleRef": role, "subjects": [all_users]})
    ann = User(name="ann", groups=("system:authenticated",))

    assert len(index.grants(ann, "red").missing_roles()) == 100
    assert index.grants(ann, "blue").missing_roles() == []


def test_a_change_in_one_namespace_leaves_what_is_known_of_others() -> None:
    index = RoleIndex()
    ann = User(name="ann")
    blue, red = index.grants(ann, "blue"), index.grants(ann, "red")

    put(index, "roles", {"metadata": {"name": "r", "namespace": "red"}})
    assert index.grants(ann, "blue") is blue
    assert index.grants(ann, "red") is not red
    put(index, "clusterroles", {"metadata": {"name": "r"}})
    assert index.grants(ann, "blue") is not blue
