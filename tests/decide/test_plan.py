"""Plans are data: two equal decisions compare equal, and writes name their objects."""

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.plan import Create, Patch, Plan, ResourceName

PODS = ResourceName("", "v1", "pods")
CLASSES = ResourceName("storage.k8s.io", "v1", "storageclasses")


def test_a_resource_is_named_as_in_error_messages() -> None:
    assert str(PODS) == "pods"
    assert str(CLASSES) == "storageclasses.storage.k8s.io"


def test_a_create_knows_the_key_of_what_it_makes() -> None:
    create = Create(resource=PODS, document={"metadata": {"namespace": "a", "name": "b"}})
    assert create.key == ObjectKey("a", "b")


def test_equal_decisions_are_equal_plans() -> None:
    def plan() -> Plan:
        patch = Patch(resource=PODS, key=ObjectKey("a", "b"), patch={"x": 1}, version="7")
        return Plan(reason="Why", writes=(patch,))

    assert plan() == plan()
