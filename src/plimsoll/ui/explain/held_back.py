"""What became of volumes that are provisioned together, as a document and as text."""

from plimsoll.api.meta import wire_time
from plimsoll.api.registry import Document
from plimsoll.decide.explain.held_back import GroupStory, HeldClaim, HeldState
from plimsoll.decide.scheduling.binding.groups import EndedAttempt
from plimsoll.decide.scheduling.reasons import SeenObject
from plimsoll.ui.explain.layout import Row, plain, table
from plimsoll.ui.explain.margin import Margin, object_document

HELD: Row = ("CLAIM", "HELD", "VOLUME", "PROVISIONER", "REFUSAL")
HELD_STATES = {
    HeldState.NOTHING_NOTED: "none noted",
    HeldState.CALLING: "being made",
    HeldState.MADE: "made, held back",
    HeldState.REFUSED: "refused",
    HeldState.UNDOING: "being given back",
    HeldState.UNDONE: "given back",
    HeldState.STUCK: "not settled",
    HeldState.SUSPECT: "not settled",
    HeldState.BOUND: "recorded",
    HeldState.CLAIM_GONE: "claim is gone",
}


def story_document(story: GroupStory | None, margin: Margin) -> Document | None:
    if story is None:
        return None
    group, ended = story.group, story.group.ended
    return {
        "pod": {"namespace": group.namespace, "name": group.pod, "uid": group.pod_uid},
        "state": group.state.value,
        "node": group.node,
        "attempt": group.attempt,
        "deadline": wire_time(group.deadline),
        "message": story.message,
        "claims": [_held_document(claim, margin) for claim in story.claims],
        "ended": None if ended is None else _ended_document(ended),
        "givenBack": [claim.key.name for claim in story.given_back],
        "next": story.next_step,
        "object": object_document(story.noted_in, margin),
    }


def _held_document(claim: HeldClaim, margin: Margin) -> Document:
    return {
        "name": claim.key.name,
        "isHeld": claim.is_held,
        "provisioner": claim.provisioner or None,
        "state": claim.state.value,
        "refusal": claim.refusal or None,
        "number": claim.number,
        "object": object_document(claim.noted_in, margin),
    }


def _ended_document(ended: EndedAttempt) -> Document:
    return {
        "attempt": ended.attempt,
        "node": ended.node,
        "claim": ended.claim or None,
        "message": ended.why,
    }


def story_text(story: GroupStory, told: str) -> str:
    """`told` is what was said of the pod already."""
    ended = story.group.ended
    shown = table(HELD, (_held_row(claim, ended) for claim in story.claims))
    above = [] if story.message == told else [plain(story.message)]
    lines: list[str] = []
    if ended is not None:
        claim = f" by claim {ended.claim}" if ended.claim else ""
        lines.append(f"Attempt {ended.attempt} on node {ended.node} was ended{claim}: {ended.why}")
    if names := [claim.key.name for claim in story.given_back]:
        lines.append(f"Given back so far: what was made for {', '.join(names)}.")
    lines.append(f"Next: {story.next_step}")
    lines.append(f"Noted in {story.noted_in}, state {story.group.state}.")
    return "\n".join((*above, shown, *map(plain, lines)))


def _held_row(claim: HeldClaim, ended: EndedAttempt | None) -> Row:
    # What ended the attempt is said below the table.
    is_told = ended is not None and ended.why == claim.refusal
    return (
        plain(claim.key.name),
        "yes" if claim.is_held else "no",
        HELD_STATES[claim.state],
        claim.provisioner,
        "" if is_told else plain(claim.refusal),
    )


def records_of(story: GroupStory | None) -> set[SeenObject]:
    if story is None:
        return set()
    return {story.noted_in, *(claim.noted_in for claim in story.claims if claim.noted_in)}
