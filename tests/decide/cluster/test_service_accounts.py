"""Which namespaces get a default service account."""

import pytest
from hypothesis import given, strategies as st

from plimsoll.api.core import Namespace, NamespaceStatus
from plimsoll.api.meta import ObjectKey, ObjectMeta
from plimsoll.decide.cluster.service_accounts import decide_default_account
from plimsoll.decide.plan import NOTHING, Create


def a_namespace(name: str = "apps", phase: str = "Active") -> Namespace:
    return Namespace(metadata=ObjectMeta(name=name), status=NamespaceStatus(phase=phase))


def test_a_namespace_without_one_gets_it() -> None:
    (create,) = decide_default_account(a_namespace(), [ObjectKey("other", "default")]).writes
    assert isinstance(create, Create)
    assert create.key == ObjectKey("apps", "default")


@pytest.mark.parametrize(
    ("phase", "accounts"),
    [
        pytest.param("Active", [ObjectKey("apps", "default")], id="has-one"),
        pytest.param("Terminating", [], id="on-its-way-out"),
    ],
)
def test_others_are_left_alone(phase: str, accounts: list[ObjectKey]) -> None:
    assert decide_default_account(a_namespace(phase=phase), accounts) is NOTHING


@given(names=st.sets(st.sampled_from(["default", "builder", "deployer"])))
def test_only_the_name_default_counts(names: set[str]) -> None:
    plan = decide_default_account(a_namespace(), {ObjectKey("apps", name) for name in names})
    assert bool(plan.writes) == ("default" not in names)
