"""What a request can ask for beside its kind: selections, pages, patches, preconditions."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

import msgspec

from plimsoll.api.registry import Document

PAGE_SIZE = 500

Query = list[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which objects of a kind; by default all of them."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""

    def query(self) -> Query:
        pairs = (("labelSelector", self.labels), ("fieldSelector", self.fields))
        return [pair for pair in pairs if pair[1]]


EVERYTHING = Selection()
UNFINISHED_PODS = Selection(fields="status.phase!=Succeeded,status.phase!=Failed")
"""Pods that have ended take nothing of a node, and use no volume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paging:
    """Where a LIST starts and how much of it is wanted."""

    limit: int = PAGE_SIZE
    """0 asks for everything in one answer."""
    continue_: str = ""
    resource_version: str = ""
    """Empty asks for the newest state; "0" for whatever the server has at hand."""

    def query(self) -> Query:
        pairs = [("limit", str(self.limit))] if self.limit else []
        if self.continue_:
            pairs.append(("continue", self.continue_))
        elif self.resource_version:
            pairs.append(("resourceVersion", self.resource_version))
        return pairs


FIRST_PAGE = Paging()


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchFrom:
    """From where a watch starts, and for how long the server should keep it up."""

    resource_version: str
    sends_initial_events: bool = False
    """Send the present state first, ended by a bookmark, instead of a LIST."""
    timeout: timedelta = timedelta(minutes=5)

    def query(self) -> Query:
        pairs = [
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("timeoutSeconds", str(round(self.timeout.total_seconds()))),
        ]
        if self.resource_version:
            pairs.append(("resourceVersion", self.resource_version))
        if self.sends_initial_events:
            pairs.append(("sendInitialEvents", "true"))
            pairs.append(("resourceVersionMatch", "NotOlderThan"))
        return pairs


@dataclass(frozen=True, slots=True)
class PatchBody:
    content_type: str
    body: bytes


def merge_patch(document: Document) -> PatchBody:
    """null removes a field, lists are replaced as a whole."""
    return PatchBody("application/merge-patch+json", msgspec.json.encode(document))


def strategic_patch(document: Document) -> PatchBody:
    """Like a merge patch, but lists whose items have a key are merged item by item."""
    return PatchBody("application/strategic-merge-patch+json", msgspec.json.encode(document))


def json_patch(operations: Iterable[Document]) -> PatchBody:
    """All operations or none; `test` makes a precondition."""
    return PatchBody("application/json-patch+json", msgspec.json.encode(list(operations)))


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    subresource: str = ""
    is_rehearsal: bool = False
    """Go through every check of the server, but store nothing."""

    def query(self) -> Query:
        return [("dryRun", "All")] if self.is_rehearsal else []


PLAIN = WriteOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """How to delete; uid and resource version are preconditions."""

    uid: str = ""
    resource_version: str = ""
    grace_period_seconds: int | None = None
    propagation: str = ""
    """Background, Foreground or Orphan; empty leaves it to the kind's default."""
    is_rehearsal: bool = False

    def body(self) -> Document:
        options: Document = {"kind": "DeleteOptions", "apiVersion": "v1"}
        preconditions = {"uid": self.uid, "resourceVersion": self.resource_version}
        if any(preconditions.values()):
            options["preconditions"] = {k: v for k, v in preconditions.items() if v}
        if self.grace_period_seconds is not None:
            options["gracePeriodSeconds"] = self.grace_period_seconds
        if self.propagation:
            options["propagationPolicy"] = self.propagation
        if self.is_rehearsal:
            options["dryRun"] = ["All"]
        return options


AS_USUAL = Deletion()
