from hypothesis import given, strategies as st

from plimsoll.decide.ceph.making_pools.crush_rules import (
    CrushRule,
    Take,
    domain_takes,
    is_led_by,
    journal_takes,
    with_rules,
)

ABC = ("zone-a", "zone-b", "zone-c")


def takes(domain: str, domains: tuple[str, ...] = ABC, copies: int = 3) -> list[tuple[str, int]]:
    found = domain_takes(domain, domains, copies=copies, leaf="host")
    return [(take.bucket, take.number) for take in found]


def test_the_first_copy_is_in_the_domain_and_the_others_in_the_next_ones() -> None:
    assert takes("zone-a") == [("zone-a", 1), ("zone-b", 1), ("zone-c", 1)]
    assert takes("zone-c") == [("zone-c", 1), ("zone-a", 1), ("zone-b", 1)]


def test_with_few_domains_a_domain_has_several_of_the_other_copies() -> None:
    assert takes("zone-b", ("zone-a", "zone-b")) == [("zone-b", 1), ("zone-a", 2)]


def test_one_copy_is_in_the_domain() -> None:
    assert takes("zone-b", copies=1) == [("zone-b", 1)]


@given(number=st.integers(2, 12), own=st.integers(0, 11), copies=st.integers(1, 10))
def test_the_domain_has_one_copy_of_all(number: int, own: int, copies: int) -> None:
    domains = tuple(f"zone-{n:02}" for n in range(number))
    found = domain_takes(domains[own % number], domains, copies=copies, leaf="host")
    assert is_led_by(found, domains[own % number])
    assert sum(take.number for take in found) == copies
    others = [take.number for take in found[1:]]
    assert not others or max(others) - min(others) <= 1
    assert len({take.bucket for take in found}) == len(found)


def test_the_journal_is_spread_over_all_domains() -> None:
    def journal(*domains: str) -> tuple[Take, ...]:
        where = {"root": "default", "domain_type": "zone", "leaf": "host"}
        return journal_takes(domains, copies=3, **where)

    assert journal(*ABC) == (Take(bucket="default", number=0, type="zone"),)
    assert [take.number for take in journal("zone-a", "zone-b")] == [1, 2]


RULE = CrushRule(name="r", takes=(Take(bucket="zone-a", number=1, type="host"),))
OLD_MAP = (
    "rule old {\n\tid 0\n\ttype replicated\n\tmin_size 1\n\tmax_size 10\n}\n\n# end crush map\n"
)
NEW_MAP = OLD_MAP.replace("\tmin_size 1\n\tmax_size 10\n", "")


def test_rules_are_added_before_the_end_of_the_map_and_nothing_else_changes() -> None:
    added = (
        "rule r {\n\tid 4\n\ttype replicated\n\tstep take zone-a\n"
        "\tstep chooseleaf firstn 1 type host\n\tstep emit\n}\n"
    )
    before, end, after = NEW_MAP.rpartition("# end crush map")
    assert with_rules(NEW_MAP, [RULE], first_id=4) == f"{before}{added}{end}{after}"


def test_sizes_are_named_where_the_other_rules_name_them() -> None:
    assert "\tmin_size 1\n\tmax_size 10\n\tstep take zone-a" in with_rules(
        OLD_MAP, [RULE], first_id=1
    )
