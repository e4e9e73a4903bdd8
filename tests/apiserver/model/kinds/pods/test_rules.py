from plimsoll.apiserver.model.kinds.pods.rules import RULES
from tests.apiserver.model.kinds.pods.objects import a_stored_pod


def test_pods_are_selected_by_where_and_how_they_run() -> None:
    pod = a_stored_pod(nodeName="n1", hostNetwork=True)
    pod["status"]["podIPs"] = [{"ip": "10.0.0.1"}]

    assert RULES.selectable_fields(pod) == {
        "spec.nodeName": "n1",
        "spec.restartPolicy": "Always",
        "spec.schedulerName": "default-scheduler",
        "spec.serviceAccountName": "",
        "spec.hostNetwork": "true",
        "status.phase": "Pending",
        "status.podIP": "10.0.0.1",
        "status.podIPs": "",
        "status.nominatedNodeName": "",
    }
    assert RULES.selectable_names == frozenset(RULES.selectable_fields(pod))
