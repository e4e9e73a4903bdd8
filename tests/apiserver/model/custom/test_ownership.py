from plimsoll.apiserver.model.custom.ownership import compiled_paths, tracked_paths

SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "set": {
                    "type": "array",
                    "items": {"type": "string"},
                    "x-kubernetes-list-type": "set",
                },
                "map": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
                    },
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                },
                "plain": {"type": "array", "items": {"type": "string"}},
                "one": {
                    "type": "object",
                    "x-kubernetes-map-type": "atomic",
                    "properties": {"a": {"type": "string"}},
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "port": {"x-kubernetes-int-or-string": True},
            },
        }
    },
}


def test_lists_and_maps_are_owned_as_the_schema_says() -> None:
    spec = {
        "set": ["a"],
        "map": [{"k": "x", "v": 1}],
        "plain": ["a"],
        "one": {"a": "b"},
        "free": {"deep": {"er": 1}},
        "port": 80,
    }
    owned = tracked_paths(compiled_paths(SCHEMA)).added({"metadata": {"name": "a"}, "spec": spec})
    assert owned["f:spec"] == {
        ".": {},
        "f:set": {".": {}, 'v:"a"': {}},
        "f:map": {".": {}, 'k:{"k":"x"}': {".": {}, "f:k": {}, "f:v": {}}},
        "f:plain": {},
        "f:one": {},
        "f:free": {".": {}, "f:deep": {".": {}, "f:er": {}}},
        "f:port": {},
    }
