"""MutatingAdmissionWebhook and ValidatingAdmissionWebhook: the last to change, then to refuse."""

from collections.abc import Callable

from plimsoll.api.patch.documents import clone
from plimsoll.api.patch.errors import PatchError
from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes
from plimsoll.apiserver.admission.policies.conditions import (
    ConditionsFailedError,
    conditions_hold,
)
from plimsoll.apiserver.admission.policies.limits import PolicyAdmission
from plimsoll.apiserver.admission.policies.matching import MatchedVersion
from plimsoll.apiserver.admission.policies.questions import PolicyQuestion
from plimsoll.apiserver.admission.webhooks.calls import WebhookCalls, WebhookFailed
from plimsoll.apiserver.admission.webhooks.configuration import (
    MUTATING,
    VALIDATING,
    Webhook,
    is_deletion,
    matching,
)
from plimsoll.apiserver.admission.webhooks.review import (
    WebhookVerdict,
    digest,
    question,
    written_kind,
)
from plimsoll.apiserver.model import schema
from plimsoll.apiserver.model.custom.served_kind import CustomResource
from plimsoll.apiserver.model.kinds.table import rules_for
from plimsoll.apiserver.model.patch import json_patch
from plimsoll.apiserver.model.status import ApiError, forbidden

SUCCESS_BELOW = 400


def mutate(attributes: Attributes, repeat: Callable[[], None]) -> None:
    """Each sees what those before it have changed.

    If one has changed something, `repeat` lets the plugins before them look again; then some of the
    webhooks are asked again if others changed more.
    """
    again: list[tuple[Webhook, MatchedVersion, Document]] = []
    is_changed = False
    for webhook, matched in matching(attributes, MUTATING):
        is_changed |= _apply(webhook, matched, attributes)
        if webhook.reinvoked and not is_deletion(attributes):
            again.append((webhook, matched, clone(attributes.document)))
    if is_changed:
        repeat()
    for webhook, matched, seen in again:
        if seen != attributes.document:
            _apply(webhook, matched, attributes)


def validate(attributes: Attributes) -> None:
    for webhook, matched in matching(attributes, VALIDATING):
        verdict = _asked(webhook, matched, attributes)
        if verdict is not None and verdict.patch:
            raise _failed(webhook, "a validating webhook may not change the object")


def _apply(webhook: Webhook, matched: MatchedVersion, attributes: Attributes) -> bool:
    """Whether the object is another one now."""
    verdict = _asked(webhook, matched, attributes)
    if verdict is None or not verdict.patch or is_deletion(attributes):
        return False
    if attributes.subresource == "scale":
        raise _failed(webhook, "what a webhook changes about a scale cannot be stored here")
    try:
        patched = json_patch.apply(clone(attributes.document), verdict.patch)
        new = _typed(attributes, patched)
    except (PatchError, schema.SchemaError, TypeError, AttributeError, KeyError) as error:
        raise _failed(webhook, f"its patch does not fit the object: {error}") from error
    is_changed = new != attributes.document
    attributes.document.clear()
    attributes.document.update(new)
    return is_changed


def _typed(attributes: Attributes, patched: object) -> Document:
    """As if a client had sent it: with the right types, and with defaults."""
    resource = attributes.resource
    if not isinstance(patched, dict) or not isinstance(patched.get("metadata"), dict):
        raise schema.SchemaError("the result is no object")
    group, version, kind = written_kind(attributes)
    head = {"kind": kind, "apiVersion": f"{group}/{version}" if group else version}
    if isinstance(resource, CustomResource):
        custom = resource.served.read(patched).document
        resource.served.rules.default(custom)
        return custom | head
    try:
        name = schema.schema_name(group, version, kind)
    except KeyError:
        return patched
    document = schema.round_trip(name, patched).document
    if kind == resource.kind:
        rules_for(group, kind).default(document)
    return head | document


def _asked(
    webhook: Webhook, matched: MatchedVersion, attributes: Attributes
) -> WebhookVerdict | None:
    """None when the webhook is not for this request, or failed and need not be heard.

    Raises ApiError when it refuses.
    """
    if not _conditions_hold(webhook, matched, attributes):
        return None
    asked = question(attributes, matched.version)
    calls: WebhookCalls = attributes.calls
    verdict = calls.verdict(webhook, digest(webhook, asked), asked)
    if isinstance(verdict, WebhookFailed):
        if webhook.fails_closed:
            raise _failed(webhook, verdict.why)
        return None
    attributes.warnings.extend(verdict.warnings)
    notes = {f"{webhook.name}/{key}": text for key, text in verdict.audit_annotations.items()}
    calls.audit_annotations.update(notes)
    if not verdict.allowed:
        raise _denied(webhook, verdict.status)
    return verdict


def _conditions_hold(webhook: Webhook, matched: MatchedVersion, attributes: Attributes) -> bool:
    """Raises ApiError when that cannot be told and the webhook fails closed."""
    if not webhook.conditions:
        return True
    admission: PolicyAdmission = attributes.policies
    names = PolicyQuestion(attributes, matched).names(None)
    try:
        return conditions_hold(webhook.conditions, names, admission.budget())
    except ConditionsFailedError as error:
        if webhook.fails_closed:
            raise forbidden(attributes.resource, attributes.name, str(error)) from None
        return False


def _denied(webhook: Webhook, status: Document) -> ApiError:
    given = status.get("code")
    code = given if isinstance(given, int) and SUCCESS_BELOW <= given < 600 else 403  # noqa: PLR2004
    why = status.get("message") or status.get("reason")
    told = f"denied the request: {why}" if why else "denied the request without explanation"
    reason = status.get("reason")
    return ApiError(
        code,
        reason if isinstance(reason, str) else "Forbidden",
        f'admission webhook "{webhook.name}" {told}',
        {},
    )


def _failed(webhook: Webhook, why: str) -> ApiError:
    return ApiError(
        500,
        "InternalError",
        f'Internal error occurred: failed calling webhook "{webhook.name}": {why}',
        {"causes": [{"message": f'failed calling webhook "{webhook.name}": {why}'}]},
    )
