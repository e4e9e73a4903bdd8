from plimsoll.apiserver.model.custom.open_api import custom_schemas
from plimsoll.apiserver.model.custom.served_kind import custom_resource
from tests.apiserver.model.custom.definitions import a_definition, served


def test_the_schemas_say_what_the_definition_says_and_what_every_object_has() -> None:
    made = custom_schemas(custom_resource(served(a_definition({"type": "string"}))))
    widget, listed = made["com.example.v1.Widget"], made["com.example.v1.WidgetList"]
    assert widget["properties"]["spec"] == {"type": "string"}
    assert widget["properties"]["metadata"]["$ref"].endswith("ObjectMeta")
    assert widget["x-kubernetes-group-version-kind"] == [
        {"group": "example.com", "kind": "Widget", "version": "v1"}
    ]
    assert listed["properties"]["items"]["items"] == {"$ref": "com.example.v1.Widget"}
