"""CRUSH rules for a pool whose primaries are in one domain and whose other copies are outside it.

The first copy of every object is its primary. So a rule takes one leaf of the own domain first, and
after that leaves of the other domains, in turn, beginning with the next one by name: pools of
different domains do not all fill the same one. Ceph has no command that makes such a rule; it is
written into the text of the CRUSH map.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

END = "# end crush map"
SIZES = "\n\tmin_size "
"""Maps before Ceph 17 say in each rule for which sizes of pools it is meant."""
LARGEST_POOL = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Take:
    """So many leaves of one bucket, on different ones; 0: as many as the pool has copies."""

    bucket: str
    number: int
    type: str
    """Of what each of them is another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrushRule:
    name: str
    takes: tuple[Take, ...]


def domain_takes(
    domain: str, domains: Sequence[str], *, copies: int, leaf: str
) -> tuple[Take, ...]:
    """One copy in the domain, all others outside it. `domains` are all, the own one included."""
    at = domains.index(domain)
    others = [*domains[at + 1 :], *domains[:at]]
    number = Counter(islice(cycle(others), copies - 1)) if others else Counter()
    found = [Take(bucket=domain, number=1, type=leaf)]
    found += (Take(bucket=other, number=number[other], type=leaf) for other in others)
    return tuple(take for take in found if take.number)


def journal_takes(
    domains: Sequence[str], *, root: str, domain_type: str, copies: int, leaf: str
) -> tuple[Take, ...]:
    """Each copy in another domain, whichever; with too few domains, as for the first of them."""
    if len(domains) >= copies:
        return (Take(bucket=root, number=0, type=domain_type),)
    return domain_takes(domains[0], domains, copies=copies, leaf=leaf)


def is_led_by(takes: Sequence[Take], domain: str) -> bool:
    """Whether the primaries of a pool with this rule are in the domain."""
    return bool(takes) and takes[0].bucket == domain and takes[0].number == 1


def with_rules(text: str, rules: Sequence[CrushRule], *, first_id: int) -> str:
    """The text of a CRUSH map with more rules; everything else stays as it is."""
    has_sizes = SIZES in text
    added = "\n".join(
        _text(rule, first_id + number, has_sizes=has_sizes) for number, rule in enumerate(rules)
    )
    body, end, rest = text.rpartition(END)
    return f"{body}{added}\n{end}{rest}" if end else f"{text}\n{added}"


def _text(rule: CrushRule, number: int, *, has_sizes: bool) -> str:
    lines = [f"rule {rule.name} {{", f"\tid {number}", "\ttype replicated"]
    if has_sizes:
        lines += ["\tmin_size 1", f"\tmax_size {LARGEST_POOL}"]
    for take in rule.takes:
        lines.append(f"\tstep take {take.bucket}")
        lines.append(f"\tstep chooseleaf firstn {take.number} type {take.type}")
        lines.append("\tstep emit")
    return "\n".join([*lines, "}"])
