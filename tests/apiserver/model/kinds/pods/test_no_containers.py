from plimsoll.apiserver.model.kinds.pods.no_containers import no_containers, no_host


def test_the_volumes_of_ephemeral_claims_are_named_after_the_pod() -> None:
    pod = {
        "metadata": {"namespace": "default", "name": "web", "uid": "u1"},
        "spec": {"nodeName": "n1", "volumes": [{"name": "tmp", "ephemeral": {}}]},
    }
    said = str(no_containers(pod, "log", {"web-tmp": "pv-1"}.__getitem__))
    assert said.endswith("of node n1: tmp (volume pv-1 of claim web-tmp)")


def test_a_pod_without_volumes_or_without_a_node() -> None:
    pod = {"metadata": {"namespace": "default", "name": "web"}, "spec": {"nodeName": "n1"}}
    assert str(no_containers(pod, "exec", str)).endswith("a command in, and no volumes")
    assert str(no_host(pod)) == "pod web does not have a host assigned"
