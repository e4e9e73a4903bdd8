from plimsoll.api.registry import builtin_resources
from plimsoll.apiserver.model.ownership.endpoint import endpoint
from tests.apiserver.model.ownership.objects import at


def test_every_resource_and_subresource_can_be_tracked() -> None:
    for resource in builtin_resources():
        assert endpoint(resource).kind == resource.kind
        for subresource in resource.subresources:
            assert endpoint(resource, subresource.name).subresource == subresource.name


def test_events_are_known_in_both_of_their_groups() -> None:
    assert at("Event").versions == {"v1", "events.k8s.io/v1"}
