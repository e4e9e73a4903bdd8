"""Services in a running server: no two share an address, and a restart forgets none."""

from plimsoll.api.registry import Document
from tests.apiserver.api import Api

SERVICES = "/api/v1/namespaces/default/services"


async def a_service(api: Api, name: str, **spec: object) -> Document:
    body = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]} | spec}
    reply = await api.ask("POST", SERVICES, body)
    assert reply.status == 201, reply.document
    document: Document = reply.document
    return document


async def test_an_address_is_taken_until_its_service_is_gone(api: Api) -> None:
    address = (await a_service(api, "web"))["spec"]["clusterIP"]
    again = {"metadata": {"name": "b"}, "spec": {"ports": [{"port": 1}], "clusterIP": address}}

    refused = await api.ask("POST", SERVICES, again)
    assert refused.status == 422
    assert refused.document["details"]["causes"][0]["field"] == "spec.clusterIPs"
    assert "provided IP is already allocated" in refused.document["message"]

    await api.ask("DELETE", f"{SERVICES}/web")
    assert (await api.ask("POST", SERVICES, again)).status == 201


async def test_a_node_port_is_taken_until_its_service_needs_it_no_longer(api: Api) -> None:
    ports = [{"port": 80, "nodePort": 30080}]
    await a_service(api, "web", type="NodePort", ports=ports)
    again = {"metadata": {"name": "b"}, "spec": {"type": "NodePort", "ports": ports}}

    refused = await api.ask("POST", SERVICES, again)
    assert "provided port is already allocated" in refused.document["message"]

    await api.ask("PATCH", f"{SERVICES}/web", {"spec": {"type": "ClusterIP"}})
    assert (await api.ask("POST", SERVICES, again)).status == 201


async def test_the_address_is_nobodys_field_and_a_dry_run_takes_none(api: Api) -> None:
    body = {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}
    tried = await api.ask("POST", SERVICES, body, dryRun="All")
    made = await api.ask("POST", SERVICES, body)

    assert tried.document["spec"]["clusterIP"] == made.document["spec"]["clusterIP"]
    (owner,) = made.document["metadata"]["managedFields"]
    assert "f:clusterIP" not in owner["fieldsV1"]["f:spec"]


async def test_the_server_has_a_service_of_its_own(api: Api) -> None:
    own = (await api.ask("GET", f"{SERVICES}/kubernetes")).document

    assert own["spec"]["clusterIP"] == "10.96.0.1"
    assert own["spec"]["ports"] == [
        {"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}
    ]
    assert own["metadata"]["labels"] == {"component": "apiserver", "provider": "kubernetes"}


async def test_a_name_outside_the_cluster_has_no_policy_for_traffic_within(api: Api) -> None:
    outside = {"type": "ExternalName", "externalName": "example.com", "ports": None}
    made = await a_service(api, "new", internalTrafficPolicy="Cluster", **outside)
    assert "internalTrafficPolicy" not in made["spec"]

    before = await a_service(api, "old")
    assert before["spec"]["internalTrafficPolicy"] == "Cluster"
    now = await api.ask("PATCH", f"{SERVICES}/old", {"spec": outside})
    assert now.status == 200
    assert "internalTrafficPolicy" not in now.document["spec"]
