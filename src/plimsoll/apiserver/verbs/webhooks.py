"""Writes that webhooks have a say in: decided on a draft, again for each webhook that was asked.

A decision never waits. Where it needs the answer of a webhook it stops; the webhook is asked, and
the write is decided anew, on the newest state and with the same identity. When nothing is left to
ask, and nothing that the decision looked at has changed meanwhile, it is staged.
"""

import base64
from collections.abc import Callable
from functools import partial
from random import Random
from typing import TypeVar
from uuid import UUID

from msgspec.structs import replace

from plimsoll.apiserver.admission.webhooks.calls import (
    WebhookCalls,
    WebhookFailed,
    WebhookNeededError,
)
from plimsoll.apiserver.admission.webhooks.configuration import GROUP, MUTATING, VALIDATING
from plimsoll.apiserver.admission.webhooks.endpoints import find_endpoint
from plimsoll.apiserver.admission.webhooks.review import (
    BadAnswerError,
    WebhookVerdict,
    read_verdict,
    review,
)
from plimsoll.apiserver.model.custom.cel.library.times import parse_duration
from plimsoll.apiserver.model.custom.cel.values import CelError
from plimsoll.apiserver.model.status import ApiError, bad_request
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.drafts import Draft
from plimsoll.apiserver.storage.heavy_work import too_busy
from plimsoll.runtime.ids import RandomIds

T = TypeVar("T")

MUTATING_COLLECTION, VALIDATING_COLLECTION = f"{MUTATING}.{GROUP}", f"{VALIDATING}.{GROUP}"
DECISIONS = 200
"""How often one write is decided at most: once for each question, and once for each overtaking."""
OVERTAKEN = 20
LONGEST = 60.0
"""Seconds that all the webhooks of a request have together."""


def are_configured(cluster: StoredCluster) -> bool:
    """Asked before every write."""
    revisions = cluster.revisions
    are_none = revisions.collection(MUTATING_COLLECTION).is_empty
    return not (are_none and revisions.collection(VALIDATING_COLLECTION).is_empty)


async def decide_with_webhooks(
    cluster: StoredCluster,
    decide: Callable[[StoredCluster], T],
    calls: WebhookCalls | None = None,
    *,
    seconds: float = LONGEST,
) -> T:
    """What the decision returns, once it is staged. Raises ApiError.

    `calls` gets what the webhooks have answered, all of them within the time of the request.
    """
    calls = WebhookCalls() if calls is None else calls
    until = cluster.clock.monotonic() + seconds
    seed, overtaken = UUID(cluster.ids.uid()).int, 0
    for _ in range(DECISIONS):
        draft = Draft(cluster.revisions)
        # From a seed that cannot be guessed, so that every decision makes up the same names.
        ids = RandomIds(Random(seed))  # noqa: S311
        drafted = replace(cluster.with_draft(draft), ids=ids, calls=calls)
        try:
            decided = await cluster.work.run(partial(decide, drafted))
        except WebhookNeededError as needed:
            left = until - cluster.clock.monotonic()
            if left > 0:
                calls.answers[needed.key] = await _asked(cluster, needed, left)
            if cluster.clock.monotonic() >= until:
                raise _too_late() from needed
            continue
        except ApiError:
            if draft.is_current():
                raise
        else:
            if draft.commit():
                return decided
        overtaken += 1
        if overtaken > OVERTAKEN:
            break
    raise too_busy()


def seconds_for(timeout: str) -> float:
    """How long the client of a request waits, as its query says it. Raises ApiError."""
    if not timeout:
        return LONGEST
    try:
        wanted = parse_duration(timeout).total_seconds()
    except CelError:
        raise bad_request(f"the timeout of the request cannot be read: {timeout[:20]!r}") from None
    return min(wanted, LONGEST) if wanted > 0 else LONGEST


def _too_late() -> ApiError:
    return ApiError(
        504,
        "Timeout",
        "the server was unable to return a response in the time allotted: webhooks took too long",
        {},
    )


async def _asked(
    cluster: StoredCluster, needed: WebhookNeededError, left: float
) -> WebhookVerdict | WebhookFailed:
    uid, webhook = cluster.ids.uid(), needed.webhook
    seconds = min(webhook.seconds, left)
    if cluster.webhooks is None:
        return WebhookFailed("this server has no network to call webhooks by")
    try:
        endpoint = find_endpoint(webhook.client, cluster.reader)
        body = await cluster.webhooks.post(
            f"{endpoint.url}?timeout={round(seconds, 3):g}s",
            review(needed.asked, uid, webhook.review_version),
            ca_bundle=base64.b64decode(webhook.client.get("caBundle") or ""),
            server_name=endpoint.server_name,
            seconds=seconds,
        )
        return read_verdict(body, uid, webhook.review_version)
    except (OSError, LookupError, BadAnswerError) as error:
        return WebhookFailed(str(error))
