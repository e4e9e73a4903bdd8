"""Follows requests from their beginning to their end, and has the log tell of each stage."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from msgspec import structs
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from plimsoll.apiserver.access.users import User
from plimsoll.apiserver.audit.entries import FAILURE, AuditEntry
from plimsoll.apiserver.audit.log_file import AuditLog
from plimsoll.apiserver.audit.policy import AuditLevel, AuditPolicy, AuditRule, AuditStage
from plimsoll.apiserver.audit.subject import AuditSubject, subject_of
from plimsoll.apiserver.http.answers import Answer
from plimsoll.apiserver.http.negotiation import body_type
from plimsoll.apiserver.http.requests import Target
from plimsoll.runtime.clock import Clock
from plimsoll.runtime.ids import Ids
from plimsoll.wire.transport import Request

DECISION = "authorization.k8s.io/decision"
ALLOW = (DECISION, "allow")
UNAUTHENTICATED = 401


def written_time(moment: datetime) -> str:
    return f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedRequest:
    audit_id: str
    rule: AuditRule
    subject: AuditSubject
    received: str
    request: Request


class AuditTrail(Collector):
    """Also counts, under kube-apiserver's names."""

    def __init__(self, policy: AuditPolicy, log: AuditLog, clock: Clock, ids: Ids) -> None:
        self._policy = policy
        self._log = log
        self._clock = clock
        self._ids = ids

    def begin(self, request: Request, target: Target | None, user: User) -> FollowedRequest | None:
        """None when the policy wants nothing to be known of the request."""
        subject = subject_of(request, target, user)
        rule = self._policy.rule_for(subject)
        if rule is None:
            return None
        followed = FollowedRequest(
            audit_id=self._ids.uid(),
            rule=rule,
            subject=subject,
            received=written_time(self._clock.now()),
            request=request,
        )
        self._tell(followed, AuditStage.REQUEST_RECEIVED, Answer(status=0))
        return followed

    def end(self, followed: FollowedRequest, answer: Answer) -> Answer:
        """The answer with the number under which the log has it.

        A watch has begun by now, and ends when its stream is closed.
        """
        told = structs.replace(answer, headers=(*answer.headers, ("audit-id", followed.audit_id)))
        stream = answer.stream
        if stream is None or stream.has_end:
            self._tell(followed, AuditStage.RESPONSE_COMPLETE, answer)
            return told
        self._tell(followed, AuditStage.RESPONSE_STARTED, answer)
        close = stream.close

        def closed() -> None:
            close()
            self._tell(followed, AuditStage.RESPONSE_COMPLETE, answer)

        return structs.replace(told, stream=dataclasses.replace(stream, close=closed))

    def _tell(self, followed: FollowedRequest, stage: AuditStage, answer: Answer) -> None:
        rule = followed.rule
        if stage in rule.omit_stages or stage in self._policy.omit_stages:
            return
        omit, level = rule.omit_managed_fields, rule.level
        shows_answer = level is AuditLevel.REQUEST_RESPONSE or answer.status >= FAILURE
        self._log.add(
            AuditEntry(
                audit_id=followed.audit_id,
                level=rule.level,
                stage=stage,
                subject=followed.subject,
                received=followed.received,
                now=written_time(self._clock.now()),
                code=answer.status,
                request_type=body_type(followed.request),
                request_body=b"" if level is AuditLevel.METADATA else followed.request.body,
                response_type=answer.content_type,
                response_body=answer.body if shows_answer else b"",
                annotations=_annotations(answer),
                omit_managed_fields=self._policy.omit_managed_fields if omit is None else omit,
            )
        )

    def collect(self) -> Iterator[CounterMetricFamily]:
        yield CounterMetricFamily(
            "apiserver_audit_event", "Entries of the audit log.", value=self._log.written
        )
        lost = CounterMetricFamily(
            "apiserver_audit_error",
            "Entries that could not be written.",
            labels=["plugin"],
        )
        lost.add_metric(["log"], self._log.lost)
        yield lost

    def close(self) -> None:
        self._log.close()


def _annotations(answer: Answer) -> tuple[tuple[str, str], ...]:
    """A refusal by roles says so itself; what else is answered, they have allowed.

    An object that admission forbids is answered with 403 as well, and was allowed by roles.
    """
    is_told = any(name == DECISION for name, _ in answer.annotations)
    if not answer.status or answer.status == UNAUTHENTICATED or is_told:
        return answer.annotations
    return (ALLOW, *answer.annotations)
