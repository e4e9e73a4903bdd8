import msgspec
import pytest

from plimsoll.api.core import Node
from plimsoll.api.pods import Container, ContainerRestartRule, Pod
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.kernel import Kernel, NoNode
from plimsoll.decide.scheduling.rules.node_declared_features import (
    HOST_NETWORK_USERS,
    RESTART_ALL,
    required_features,
)
from tests.builders import a_node, a_pod

RESTARTING = Container(
    name="c", restart_policy_rules=(ContainerRestartRule(action="RestartAllContainers"),)
)
RESTARTING_ONE = Container(name="c", restart_policy_rules=(ContainerRestartRule(action="Restart"),))


def a_pod_of(**spec: object) -> Pod:
    pod = a_pod()
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, **spec))


def declaring(name: str, *features: str) -> Node:
    node = a_node(name)
    status = msgspec.structs.replace(node.status, declared_features=features)
    return msgspec.structs.replace(node, status=status)


@pytest.mark.parametrize(
    ("pod", "features"),
    [
        pytest.param(a_pod(), [], id="nothing-special"),
        pytest.param(a_pod_of(containers=(RESTARTING,)), [RESTART_ALL], id="restarts-all"),
        pytest.param(a_pod_of(init_containers=(RESTARTING,)), [RESTART_ALL], id="init-container"),
        pytest.param(a_pod_of(containers=(RESTARTING_ONE,)), [], id="restarts-one"),
        pytest.param(
            a_pod_of(host_network=True, host_users=False), [HOST_NETWORK_USERS], id="own-users"
        ),
        pytest.param(a_pod_of(host_network=True), [], id="users-of-the-node"),
        pytest.param(a_pod_of(host_users=False), [], id="own-network"),
    ],
)
def test_what_a_pod_asks_for_tells_the_features_it_needs(pod: Pod, features: list[str]) -> None:
    assert [*required_features(pod)] == features


def test_only_nodes_that_declare_the_features_will_do() -> None:
    columns = Columns.of([declaring("a"), declaring("b", RESTART_ALL)])
    pod, kernel = a_pod_of(containers=(RESTARTING,)), Kernel(columns)

    assert kernel.volumes_on(pod, "b") is not None
    assert kernel.volumes_on(pod, "a") is None
    columns.put(declaring("b", HOST_NETWORK_USERS))
    found = kernel.decide(pod)
    assert isinstance(found, NoNode)
    assert "2 node(s) didn't match Pod's required features" in found.message
