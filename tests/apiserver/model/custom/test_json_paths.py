import pytest

from plimsoll.apiserver.model.custom.json_paths import PathError, find_value, find_values

DOCUMENT = {
    "spec": {"size": 3, "ports": [{"port": 80}, {"port": 81}]},
    "metadata": {"annotations": {"a.b/c": "x"}},
    "status": {"conditions": [{"type": "A", "status": "F"}, {"type": "Ready", "status": "T"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.size", [3]),
        (".spec.missing", []),
        (".spec.ports[*].port", [80, 81]),
        (".spec.ports[-1].port", [81]),
        (".metadata.annotations['a.b/c']", ["x"]),
        (r".metadata.annotations.a\.b/c", ["x"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["T"]),
        (".status.conditions[?(@.type!='Ready')].status", ["F"]),
        (".spec.ports[?(@.port>80)].port", [81]),
        ("{.spec.size}", [3]),
    ],
)
def test_a_path_leads_to_values(path: str, found: list[object]) -> None:
    assert find_values(path, DOCUMENT) == found


def test_nothing_is_found_on_a_way_that_does_not_exist() -> None:
    assert find_value(".a.b[0].c", DOCUMENT) is None


@pytest.mark.parametrize("path", [".a[", ".a[?(@.b)]", "." * 2000, ".a b"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(PathError):
        find_values(path, DOCUMENT)
