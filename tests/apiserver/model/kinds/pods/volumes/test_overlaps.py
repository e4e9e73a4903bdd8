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


def test_all_files_that_hide_each_other_are_named_with_those_before_them() -> None:
    items = [{"key": "k", "path": path} for path in ("x/y", "x", "x/y/", "xy", "x/y/z")]

    assert list(overlap_warnings([{"name": "v", "secret": {"items": items}}])) == [
        f'volume "v": overlapping paths: "{file}" with "{other}"'
        for file, other in (
            ("x", "x/y"),
            ("x/y", "x/y"),
            ("x/y", "x"),
            ("x/y/z", "x/y"),
            ("x/y/z", "x"),
            ("x/y/z", "x/y"),
        )
    ]
