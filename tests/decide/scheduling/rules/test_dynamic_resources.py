import msgspec

from plimsoll.api.pods import Pod, PodResourceClaim
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.flags import NodeRule
from plimsoll.decide.scheduling.kernel import Kernel, NoNode
from plimsoll.decide.scheduling.reasons import NOT_CONCERNED, Reason, Verdict
from plimsoll.decide.scheduling.rules import dynamic_resources
from tests.builders import a_node, a_pod


def a_pod_with_devices() -> Pod:
    pod = a_pod()
    claims = (PodResourceClaim(name="gpu"), PodResourceClaim(name="card"))
    return msgspec.structs.replace(
        pod, spec=msgspec.structs.replace(pod.spec, resource_claims=claims)
    )


def test_a_pod_with_resource_claims_is_refused_by_their_names() -> None:
    found = dynamic_resources.judge(a_pod_with_devices())

    assert found.verdict is Verdict.UNRESOLVABLE
    assert found.sentences == (
        "node(s) cannot be given resource claims by this scheduler (gpu, card)",
    )
    assert dynamic_resources.judge(a_pod()) is NOT_CONCERNED


def test_the_scheduler_says_so_instead_of_forgetting_the_devices() -> None:
    found = Kernel(Columns.of([a_node("a"), a_node("b")])).decide(a_pod_with_devices())

    assert isinstance(found, NoNode)
    assert found.reasons == {Reason.RESOURCE_CLAIM_NOT_SUPPORTED: 2}
    assert found.rules == (NodeRule.DYNAMIC_RESOURCES,)
    assert found.message == (
        "0/2 nodes are available: 2 node(s) cannot be given resource claims by this scheduler "
        "(gpu, card). [ResourceClaimNotSupported]"
    )
