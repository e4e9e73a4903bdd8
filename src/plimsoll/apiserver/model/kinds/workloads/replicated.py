"""Rules that all kinds share that keep a number of equal pods: selector, template, counts."""

from collections.abc import Iterator, Mapping

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.spec import template_errors
from plimsoll.apiserver.model.kinds.pods.values import not_negative
from plimsoll.apiserver.model.kinds.pods.warnings import template_warnings
from plimsoll.apiserver.model.kinds.selectors import label_selector_errors

MISMATCH = "`selector` does not match template `labels`"
IMMUTABLE = "field is immutable"
ALWAYS = ("Always",)


def is_readable(selector: Document) -> bool:
    return not any(label_selector_errors(selector, ""))


def matches(selector: Document | None, labels: Mapping[str, str]) -> bool:
    """No selector matches nothing, an empty one everything."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _requirement_holds(requirement, labels)
        for requirement in selector.get("matchExpressions") or []
    )


def _requirement_holds(requirement: Document, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.get("key", ""))
    match requirement.get("operator"):
        case "In":
            return value in (requirement.get("values") or [])
        case "NotIn":
            return value not in (requirement.get("values") or [])
        case "Exists":
            return value is not None
        case _:
            return value is None


def template_labels(template: Document) -> dict[str, str]:
    labels: dict[str, str] = (template.get("metadata") or {}).get("labels") or {}
    return labels


def selector_errors(spec: Document, path: str, kind: str) -> Iterator[FieldError]:
    selector = spec.get("selector")
    if selector is None:
        yield FieldError.required(f"{path}.selector")
        return
    yield from label_selector_errors(selector, f"{path}.selector")
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield FieldError.invalid(
            f"{path}.selector", selector, f"empty selector is invalid for {kind}"
        )


def unreadable_selector_errors(spec: Document, path: str) -> Iterator[FieldError]:
    """Said on top of what is wrong with it in detail; the template is then not looked at."""
    selector = spec.get("selector")
    if selector is not None and not is_readable(selector):
        yield FieldError.invalid(f"{path}.selector", selector, "invalid label selector")


def replicated_template_errors(spec: Document, path: str, kind: str) -> Iterator[FieldError]:
    """`kind` is how messages name the owner of the template."""
    selector, template = spec.get("selector"), spec.get("template") or {}
    if selector is not None and not is_readable(selector):
        yield from unreadable_selector_errors(spec, path)
        return
    labels = template_labels(template)
    if not matches(selector, labels):
        yield FieldError.invalid(f"{path}.template.metadata.labels", labels or None, MISMATCH)
    yield from template_errors(template, f"{path}.template")
    yield from long_running_errors(template, f"{path}.template", kind)


def long_running_errors(template: Document, path: str, kind: str) -> Iterator[FieldError]:
    """Pods that are kept up restart forever and have no deadline."""
    spec = template.get("spec") or {}
    policy = spec.get("restartPolicy", "")
    if policy != "Always":
        yield FieldError.not_supported(f"{path}.spec.restartPolicy", policy, ALWAYS)
    if "activeDeadlineSeconds" in spec:
        yield FieldError.forbidden(
            f"{path}.spec.activeDeadlineSeconds",
            f"activeDeadlineSeconds in {kind} is not Supported",
        )


def count_errors(holder: Document, names: tuple[str, ...], path: str) -> Iterator[FieldError]:
    for name in names:
        yield from not_negative(holder.get(name, 0), f"{path}.{name}")


def at_most_errors(
    status: Document, names: tuple[str, ...], limit: str = "replicas"
) -> Iterator[FieldError]:
    """Parts of a status that cannot be more than the whole."""
    for name in names:
        count = status.get(name, 0)
        if count > status.get(limit, 0):
            yield FieldError.invalid(
                f"status.{name}", count, f"cannot be greater than status.{limit}"
            )


def decrement_errors(new: Document, old: Document) -> Iterator[FieldError]:
    """A count of hash collisions only grows: names are derived from it."""
    before, after = old.get("collisionCount"), new.get("collisionCount")
    if before is not None and (after or 0) < before:
        yield FieldError.invalid("status.collisionCount", after or 0, "cannot be decremented")


def immutable_errors(new: Document, old: Document, name: str) -> Iterator[FieldError]:
    """`name` is a field of `spec`."""
    before, after = (old.get("spec") or {}).get(name), (new.get("spec") or {}).get(name)
    if before != after:
        yield FieldError.invalid(f"spec.{name}", after, IMMUTABLE)


def changed_template_warnings(new: Document, old: Document | None) -> list[str]:
    """About the pod template, when the object is new or its spec changes."""
    spec = new.get("spec") or {}
    if old is not None and spec == old.get("spec"):
        return []
    return template_warnings(spec.get("template") or {}, "spec.template")
