"""MutatingAdmissionWebhook and ValidatingAdmissionWebhook: the last to change, then to refuse."""

from collections.abc import Callable

import msgspec

from plimsoll.api.patch.documents import clone
from plimsoll.api.patch.errors import PatchError
from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.attributes import Attributes
from plimsoll.apiserver.admission.policies.conditions import (
    ConditionsFailedError,
    conditions_hold,
)
from plimsoll.apiserver.admission.policies.limits import PolicyAdmission
from plimsoll.apiserver.admission.policies.questions import PolicyQuestion
from plimsoll.apiserver.admission.webhooks.calls import WebhookCalls, WebhookFailed
from plimsoll.apiserver.admission.webhooks.configuration import (
    MUTATING,
    VALIDATING,
    Webhook,
    WebhookMatch,
    is_deletion,
    matching,
)
from plimsoll.apiserver.admission.webhooks.review import (
    SUBRESOURCE_KINDS,
    WebhookVerdict,
    digest,
    question,
    rescaled,
    written_kind,
    written_scale,
)
from plimsoll.apiserver.model import schema
from plimsoll.apiserver.model.custom.served_kind import CustomResource
from plimsoll.apiserver.model.kinds.table import rules_for
from plimsoll.apiserver.model.patch import json_patch
from plimsoll.apiserver.model.status import ApiError, forbidden

SUCCESS_BELOW = 400
MUTATION = "mutation.webhook.admission.k8s.io/"
FAILED_OPEN = "failed-open.{}.webhook.admission.k8s.io/"


def mutate(attributes: Attributes, repeat: Callable[[], None]) -> None:
    """Each sees what those before it have changed.

    If one has changed something, `repeat` lets the plugins before them look again; then some of the
    webhooks are asked again if others changed more.
    """
    again: list[tuple[WebhookMatch, Document]] = []
    is_changed = False
    for match in matching(attributes, MUTATING):
        is_changed |= _apply(match, attributes, 0)
        if match.webhook.reinvoked and not is_deletion(attributes):
            again.append((match, clone(attributes.document)))
    if is_changed:
        repeat()
    for match, seen in again:
        if seen != attributes.document:
            _apply(match, attributes, 1)


def validate(attributes: Attributes) -> None:
    for match in matching(attributes, VALIDATING):
        if not _conditions_hold(match, attributes):
            continue
        verdict = _verdict(match, attributes)
        if verdict is None:
            _note(attributes, f"{FAILED_OPEN.format('validating')}{_place(match)}", match.webhook)
        elif verdict.patch:
            raise _failed(match.webhook, "a validating webhook may not change the object")


def _apply(match: WebhookMatch, attributes: Attributes, turn: int) -> bool:
    """Whether the object is another one now. `turn` counts how often webhooks were asked before."""
    if not _conditions_hold(match, attributes):
        return False
    webhook, place = match.webhook, _place(match, turn)
    verdict = _verdict(match, attributes)
    if verdict is None:
        _note(attributes, f"{FAILED_OPEN.format('mutating')}{place}", webhook)
    is_changed = False
    if verdict is not None and verdict.patch and not is_deletion(attributes):
        is_changed = _change(attributes, webhook, verdict.patch)
    told = {"configuration": webhook.configuration, "webhook": webhook.name, "mutated": is_changed}
    calls: WebhookCalls = attributes.calls
    calls.audit_annotations[f"{MUTATION}{place}"] = msgspec.json.encode(told).decode()
    return is_changed


def _place(match: WebhookMatch, turn: int = 0) -> str:
    return f"round_{turn}_index_{match.index}"


def _note(attributes: Attributes, key: str, webhook: Webhook) -> None:
    calls: WebhookCalls = attributes.calls
    calls.audit_annotations[key] = webhook.name


def _change(attributes: Attributes, webhook: Webhook, patch: list[Document]) -> bool:
    """Patch the object in place, as if the client had sent it so. Raises ApiError."""
    try:
        new = _patched(attributes, patch)
    except (PatchError, schema.SchemaError, TypeError, AttributeError, KeyError) as error:
        raise _failed(webhook, f"its patch does not fit the object: {error}") from error
    is_changed = new != attributes.document
    attributes.document.clear()
    attributes.document.update(new)
    return is_changed


def _patched(attributes: Attributes, patch: list[Document]) -> Document:
    resource, document = attributes.resource, attributes.document
    if attributes.subresource != "scale":
        return _typed(attributes, json_patch.apply(clone(document), patch))
    scale = json_patch.apply(written_scale(resource, document), patch)
    typed = schema.round_trip(schema.schema_name(*SUBRESOURCE_KINDS["scale"]), scale).document
    return rescaled(resource, document, typed)


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


def _verdict(match: WebhookMatch, attributes: Attributes) -> WebhookVerdict | None:
    """None when the webhook failed and need not be heard. Raises ApiError when it refuses."""
    webhook = match.webhook
    asked = question(attributes, match.seen.version)
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


def _conditions_hold(match: WebhookMatch, attributes: Attributes) -> bool:
    """Raises ApiError when that cannot be told and the webhook fails closed."""
    webhook = match.webhook
    if not webhook.conditions:
        return True
    admission: PolicyAdmission = attributes.policies
    names = PolicyQuestion(attributes, match.seen).names(None)
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
