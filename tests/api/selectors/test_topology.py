from plimsoll.api.selectors.topology import TopologyLabelSpec, TopologySelector, TopologyTermSpec


def term(**wanted: str) -> TopologyTermSpec:
    return TopologyTermSpec(
        match_label_expressions=tuple(
            TopologyLabelSpec(key=key, values=tuple(values.split()))
            for key, values in wanted.items()
        )
    )


def test_a_class_without_topologies_allows_everything() -> None:
    assert TopologySelector.of(()).matches({})


def test_any_term_is_enough_and_all_of_its_labels_must_fit() -> None:
    selector = TopologySelector.of((term(zone="a b", rack="1"), term(zone="c")))
    assert selector.matches({"zone": "b", "rack": "1"})
    assert selector.matches({"zone": "c"})
    assert not selector.matches({"zone": "a"})


def test_a_term_that_is_empty_or_makes_no_sense_allows_nothing() -> None:
    assert not TopologySelector.of((term(),)).matches({"zone": "a"})
    assert not TopologySelector.of((term(zone="a -"),)).matches({"zone": "a"})
