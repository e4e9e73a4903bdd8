from plimsoll.api.core import Service, ServicePort, ServiceSpec
from plimsoll.api.meta import ObjectKey
from plimsoll.api.networking import Endpoints
from plimsoll.api.typed import from_document
from plimsoll.decide.cluster.endpoints.subsets import decide_end, decide_endpoints
from plimsoll.decide.plan import NOTHING, Create, Delete
from tests.builders import meta

SERVICE = Service(
    metadata=meta("web", "default"),
    spec=ServiceSpec(selector={"app": "web"}, ports=(ServicePort(port=80),)),
)


def test_a_service_without_pods_has_an_empty_list_which_goes_with_it() -> None:
    (write,) = decide_endpoints(SERVICE, [], None).writes
    assert isinstance(write, Create)
    held = from_document(Endpoints, write.document)
    assert held.subsets == ()
    assert decide_endpoints(SERVICE, [], held) is NOTHING

    (gone,) = decide_end(ObjectKey("default", "web"), held).writes
    assert isinstance(gone, Delete)


def test_a_list_of_another_writer_stays() -> None:
    other = Endpoints(metadata=meta("web", "default"))
    assert decide_end(ObjectKey("default", "web"), other) is NOTHING
