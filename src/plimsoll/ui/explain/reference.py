"""What the user wants explained: `pod/NAME`, `claim/NAMESPACE/NAME`, `deploy/NAME`."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from plimsoll.api.meta import ObjectKey
from plimsoll.decide.explain.workload import KINDS, Workload

POD_NAMES = ("pod", "pods", "po")
CLAIM_NAMES = ("claim", "claims", "pvc", "persistentvolumeclaim", "persistentvolumeclaims")
FORMS = "write pod/NAME, claim/NAME, deploy/NAME, sts/NAME, job/NAME, ds/NAME or rs/NAME; a"
FORMS_WITH_NAMESPACE = f"{FORMS} namespace goes before the name (pod/NAMESPACE/NAME) or behind -n"


class Subject(StrEnum):
    POD = "pod"
    CLAIM = "claim"
    WORKLOAD = "workload"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    subject: Subject
    key: ObjectKey
    workload: type[Workload] | None = None

    def in_namespace(self, default: str) -> Self:
        """There, unless it has a namespace already."""
        return self if self.key.namespace else replace(self, key=ObjectKey(default, self.key.name))


def parse_reference(text: str, namespace: str) -> Reference:
    """`namespace` is the one given by an option, or empty. Raises ValueError.

    Without a namespace in either, the one of the key is empty.
    """
    kind, _, rest = text.partition("/")
    parts = rest.split("/")
    if not all(parts) or len(parts) > 2:  # noqa: PLR2004 - a namespace and a name
        raise ValueError(f"{text}: {FORMS_WITH_NAMESPACE}")
    *before, name = parts
    if before and namespace and before != [namespace]:
        raise ValueError(f"{text}: the namespace is {before[0]}, but -n says {namespace}")
    key = ObjectKey(before[0] if before else namespace, name)
    if kind in POD_NAMES:
        return Reference(subject=Subject.POD, key=key)
    if kind in CLAIM_NAMES:
        return Reference(subject=Subject.CLAIM, key=key)
    if kind in KINDS:
        return Reference(subject=Subject.WORKLOAD, key=key, workload=KINDS[kind])
    raise ValueError(f"{text}: {kind} cannot be explained; {FORMS_WITH_NAMESPACE}")
