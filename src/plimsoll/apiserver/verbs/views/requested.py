"""Which view a request asks for: JSON and YAML have one, protobuf another."""

from plimsoll.apiserver.http.negotiation import PROTOBUF, AcceptedForm
from plimsoll.apiserver.http.requests import Query
from plimsoll.apiserver.storage.resource_kinds import ResourceKind
from plimsoll.apiserver.verbs.views.protobuf_view import ProtobufView
from plimsoll.apiserver.verbs.views.text_view import ObjectView, include_object


def object_view(kind: ResourceKind, form: AcceptedForm, query: Query) -> ObjectView:
    """The view that a request asks for. Raises 400 for an unknown way to fill tables."""
    make = ProtobufView if form.media_type == PROTOBUF else ObjectView
    return make(kind, form, include_object(query, form))
