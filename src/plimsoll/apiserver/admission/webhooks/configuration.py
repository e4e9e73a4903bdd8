"""Which webhooks a write has to pass: rules, scopes and selectors of the stored configurations."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.users import SERVER
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.admission.policies.index import PolicyIndex
from plimsoll.apiserver.admission.policies.matching import MatchedVersion, RequestMatch
from plimsoll.apiserver.model.kinds.access.admission_configuration import REVIEW_VERSIONS
from plimsoll.apiserver.model.policies.compiled import PolicyExpression, compiled_rules

GROUP = "admissionregistration.k8s.io"
MUTATING = "mutatingwebhookconfigurations"
VALIDATING = "validatingwebhookconfigurations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    configuration: str
    """The name of the object that it stands in."""
    name: str
    client: Document
    """How to reach it: `clientConfig`."""
    match: RequestMatch | None
    """None: it has no rules, and no request is for it."""
    conditions: tuple[PolicyExpression, ...]
    fails_closed: bool
    seconds: int
    reinvoked: bool
    review_version: str
    """Of the AdmissionReview that it is asked with: the first of its list that there is."""

    @property
    def full_name(self) -> str:
        return f"{self.configuration}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookMatch:
    """A webhook that is for a request, if its match conditions hold."""

    webhook: Webhook
    seen: MatchedVersion
    """The version in which it is shown the object."""
    index: int
    """Of the webhook among all of its kind, as audit annotations tell it."""


def matching(attributes: Attributes, plural: str) -> Iterator[WebhookMatch]:
    """In the order of the configurations' names, and in each as it is written there."""
    if attributes.resource.group == GROUP:
        return  # no webhook can keep itself from being mended
    # The server itself, not a user of its name.
    if attributes.requester is SERVER:
        return  # what the server keeps is there whether webhooks run or not
    index = PolicyIndex() if attributes.policies is None else attributes.policies.index
    webhooks = chain.from_iterable(index.all(attributes.reader, plural, _webhooks, _nothing))
    for number, webhook in enumerate(webhooks):
        seen = None if webhook.match is None else webhook.match.find(attributes)
        if seen is not None:
            yield WebhookMatch(webhook=webhook, seen=seen, index=number)


def _nothing(_steps: int) -> None:
    """Requests that webhooks may have a say in are not decided on the event loop."""


def _webhooks(configuration: Document) -> tuple[Webhook, ...]:
    name = configuration["metadata"]["name"]
    return tuple(_webhook(name, each) for each in configuration.get("webhooks") or ())


def _webhook(configuration: str, webhook: Document) -> Webhook:
    rules = webhook.get("rules")
    return Webhook(
        configuration=configuration,
        name=webhook["name"],
        client=webhook["clientConfig"],
        match=RequestMatch.of(webhook | {"resourceRules": rules}) if rules else None,
        conditions=compiled_rules({"matchConditions": webhook.get("matchConditions")}).conditions,
        fails_closed=webhook.get("failurePolicy") != "Ignore",
        seconds=webhook.get("timeoutSeconds", 10),
        reinvoked=webhook.get("reinvocationPolicy") == "IfNeeded",
        review_version=next(
            version for version in webhook["admissionReviewVersions"] if version in REVIEW_VERSIONS
        ),
    )


def is_deletion(attributes: Attributes) -> bool:
    return attributes.operation is Operation.DELETE
