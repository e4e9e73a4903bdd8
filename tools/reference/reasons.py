"""docs/reference/reasons.md: every reason that a decision can have, and every event.

A reason's sentence is the text below the member in the code; where the name says it all to those
who read the code, `sentences` has one for those who do not.
"""

import re
from collections.abc import Iterator

from tools.reference.markdown import code, document, table
from tools.reference.sentences import EVENTS, SENTENCES, TITLES
from tools.reference.sources import Class, Member, classes, modules

INTRODUCTION = """\
Reasons are part of the interface: they are never renamed without a deprecation. A plan names one,
which is logged at level `debug`; events carry one to users, who see it in `kubectl get events`."""
PLANS = """\
## Why a plan was made

One table for each enum. A plan without anything to do has the reason `NothingToDo`."""
PLACES = ("decide", "processes/controller", "processes/node")
IN_A_PLAN = re.compile(r"\breason=(\w+)\.[A-Z]")


class UndocumentedError(Exception):
    """A reason without a sentence."""


def page() -> str:
    events = table(
        ("reason", "type", "about", "meaning"),
        [(code(e.reason), e.type, e.about, e.meaning) for e in EVENTS],
    )
    found = list(reasons())
    if missing := [name for enum in found for name in undocumented(enum)]:
        raise UndocumentedError(
            f"without a sentence: {', '.join(missing)}; write one below the member, or in "
            "tools/reference/sentences.py"
        )
    sections = [_section(enum) for enum in found]
    return document("Reasons", INTRODUCTION, f"## Events\n\n{events}", PLANS, *sections)


def reasons() -> Iterator[Class]:
    """Enums that a plan, or a finding against a node, names as its reason."""
    named = {name for path in modules(*PLACES) for name in IN_A_PLAN.findall(path.read_text())}
    for enum in classes(*PLACES):
        is_reason = enum.name in named and enum.bases == ("StrEnum",)
        if is_reason or (enum.module, enum.name) in TITLES:
            yield enum


def undocumented(enum: Class) -> Iterator[str]:
    for member in enum.members:
        if not _sentence(enum, member):
            yield f"{enum.module}.{enum.name}.{member.name}"


def _section(enum: Class) -> str:
    title = TITLES.get((enum.module, enum.name), enum.about)
    rows = [(code(member.text), _sentence(enum, member)) for member in enum.members]
    head = f"### {enum.module}.{enum.name}"
    return "\n\n".join(part for part in (head, title, table(("reason", "meaning"), rows)) if part)


def _sentence(enum: Class, member: Member) -> str:
    return SENTENCES.get((enum.module, enum.name), {}).get(member.name) or member.about
