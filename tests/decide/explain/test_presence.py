"""Only a lease that ran out proves that a process does not run."""

from collections.abc import Sequence

import pytest

from plimsoll.api.core import Lease
from plimsoll.decide.explain.presence import find_stopped_provisioner
from tests.builders import DRIVER
from tests.decide.explain.witnesses import MINUTE, NOW, a_lease, a_publisher

LEADER = "local-plimsoll-dev"
OLD = 5 * MINUTE


@pytest.mark.parametrize(
    ("leases", "is_stopped"),
    [
        pytest.param((), False, id="no-lease-tells-nothing"),
        pytest.param((a_lease(LEADER),), False, id="leads"),
        pytest.param((a_lease(LEADER, age=OLD),), True, id="leader-gone"),
        pytest.param((a_publisher(age=OLD),), True, id="publisher-gone"),
        pytest.param((a_lease(LEADER), a_publisher(age=OLD)), False, id="leads-without-looking"),
        pytest.param(
            (a_lease(LEADER, age=OLD), a_lease(LEADER, namespace="other")),
            False,
            id="an-older-installation-left-its-lease",
        ),
        pytest.param((a_lease("other-example-com", age=OLD),), False, id="another-driver"),
        pytest.param((a_lease(LEADER, age=MINUTE),), False, id="clocks-may-differ-by-a-minute"),
    ],
)
def test_a_provisioner_has_stopped_when_all_its_leases_ran_out(
    leases: Sequence[Lease], *, is_stopped: bool
) -> None:
    assert (find_stopped_provisioner(DRIVER, "", leases, NOW) is not None) is is_stopped


def test_where_each_node_has_a_provisioner_that_of_the_selected_node_counts() -> None:
    leases = [
        a_publisher("external-provisioner-node-1", age=OLD),
        a_publisher("external-provisioner-node-2"),
    ]
    stopped = find_stopped_provisioner(DRIVER, "node-1", leases, NOW)
    assert stopped is not None
    assert stopped.lease.name == "publisher-external-provisioner-node-1"
    assert find_stopped_provisioner(DRIVER, "node-2", leases, NOW) is None
    assert find_stopped_provisioner(DRIVER, "", leases, NOW) is None


def test_leases_that_could_not_be_read_prove_nothing() -> None:
    assert find_stopped_provisioner(DRIVER, "", None, NOW) is None
