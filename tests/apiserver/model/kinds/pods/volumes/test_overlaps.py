from plimsoll.apiserver.model.kinds.pods.volumes.overlaps import overlap_warnings


def test_sources_of_one_projected_volume_can_hide_each_other() -> None:
    sources = [
        {"serviceAccountToken": {"path": "a"}},
        {"configMap": {"name": "c", "items": [{"key": "k", "path": "a/b"}]}},
        {"secret": {"name": "s", "items": [{"key": "k", "path": "c"}]}},
    ]

    assert len(list(overlap_warnings([{"name": "v", "projected": {"sources": sources}}]))) == 1


def test_a_source_of_nothing_is_noticed() -> None:
    assert len(list(overlap_warnings([{"name": "v", "projected": {"sources": [{}]}}]))) == 1


def test_files_side_by_side_are_fine() -> None:
    items = [{"key": "a", "path": "x/a"}, {"key": "b", "path": "x/b"}]

    assert not list(overlap_warnings([{"name": "v", "secret": {"items": items}}]))
