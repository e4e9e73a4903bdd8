import pytest
from hypothesis import given, strategies as st

from plimsoll.api.selectors.topology import TopologyLabelSpec, TopologyTermSpec
from plimsoll.decide.provisioning.topology.terms import (
    Term,
    flattened,
    in_order,
    is_within,
    rotated,
    spread,
    spread_start,
    term_of,
)

LABELS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("xyz"), max_size=4)


def allowed(**values: list[str]) -> TopologyTermSpec:
    return TopologyTermSpec(
        match_label_expressions=tuple(
            TopologyLabelSpec(key=key, values=tuple(of)) for key, of in values.items()
        )
    )


def test_values_multiply_across_keys() -> None:
    assert sorted(flattened([allowed(zone=["a", "b"], rack=["1", "2"])])) == [
        (("rack", "1"), ("zone", "a")),
        (("rack", "1"), ("zone", "b")),
        (("rack", "2"), ("zone", "a")),
        (("rack", "2"), ("zone", "b")),
    ]


def test_terms_of_a_class_are_alternatives() -> None:
    terms = flattened([allowed(zone=["a"]), allowed(region=["r"])])

    assert terms == [(("zone", "a"),), (("region", "r"),)]


def test_a_key_without_values_forgets_what_came_before() -> None:
    assert flattened([allowed(zone=["a"], rack=[], row=["1"])]) == [(("row", "1"),)]
    assert flattened([allowed(zone=["a"], rack=[])]) == []


def test_terms_come_sorted_by_length_and_text_and_only_once() -> None:
    long: Term = (("a", "1"), ("b", "1"))

    assert in_order([long, (("z", "2"),), (("z", "10"),), (("z", "2"),)]) == [
        (("z", "10"),),
        (("z", "2"),),
        long,
    ]


@given(term=LABELS, segment=LABELS)
def test_a_term_is_within_a_segment_that_has_all_its_labels(
    term: dict[str, str], segment: dict[str, str]
) -> None:
    expected = all(segment.get(key) == value for key, value in term.items())

    assert is_within(tuple(sorted(term.items())), tuple(sorted(segment.items()))) == expected


def test_a_node_without_one_of_the_keys_has_no_term() -> None:
    assert term_of({"zone": "a", "os": "linux"}, ["zone"]) == (("zone", "a"),)
    assert term_of({"zone": "a"}, ["zone", "rack"]) is None


@pytest.mark.parametrize("claim", ["data-web", "logs-web", "pg-data-web"])
def test_all_claims_of_a_replica_begin_at_the_same_term(claim: str) -> None:
    assert spread(f"{claim}-3") == (spread("web")[0], 3)


@pytest.mark.parametrize("name", ["data", "data-web-1a", "web-4294967296", "web-", "web-²"])
def test_a_name_without_an_index_is_hashed_whole(name: str) -> None:
    assert spread(name)[1] == 0
    assert spread(name)[0] != spread("web")[0]


@given(count=st.integers(1, 9), replica=st.integers(0, 50))
def test_the_next_replica_begins_one_term_further(count: int, replica: int) -> None:
    here = spread_start(f"data-web-{replica}", count)

    assert spread_start(f"data-web-{replica + 1}", count) == (here + 1) % count


@given(terms=st.lists(st.sampled_from("abc").map(lambda v: (("z", v),)), max_size=5))
def test_rotating_loses_nothing(terms: list[Term]) -> None:
    for start in range(len(terms)):
        assert sorted(rotated(terms, start)) == sorted(terms)
        assert rotated(terms, start)[0] == terms[start]
