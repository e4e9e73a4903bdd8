"""What the checks of both levels share: they look at the pod, and at each of its containers."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from plimsoll.api.registry import Document

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


@dataclass(frozen=True, slots=True)
class PodViolation:
    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


def containers_of(spec: Document) -> Iterator[Document]:
    for kind in CONTAINERS:
        yield from spec.get(kind) or ()


def context_of(holder: Document) -> Document:
    """Of a pod or of a container."""
    context: Document = holder.get("securityContext") or {}
    return context


def named(what: str, names: Iterable[str]) -> str:
    """`container "a"`, `containers "a", "b"`."""
    listed = list(names)
    return f"{what if len(listed) == 1 else f'{what}s'} {quoted(listed)}"


def quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def offenders(spec: Document, is_bad: Callable[[Document], bool]) -> list[str]:
    """Names of the containers that a check is about."""
    return [container.get("name", "") for container in containers_of(spec) if is_bad(container)]


def setters(spec: Document, is_bad: Callable[[Document], bool]) -> str:
    """The pod, containers, or both, where their security contexts are bad; empty: none is."""
    found = ["pod"] if is_bad(context_of(spec)) else []
    names = offenders(spec, lambda container: is_bad(context_of(container)))
    if names:
        found.append(named("container", names))
    return " and ".join(found)


def has_own_users(spec: Document) -> bool:
    """Its users are not those of the node, so that its root has no rights outside."""
    return spec.get("hostUsers") is False


def is_windows(spec: Document) -> bool:
    return bool((spec.get("os") or {}).get("name") == "windows")
