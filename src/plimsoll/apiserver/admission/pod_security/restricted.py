"""The level `restricted`: what a pod that needs nothing of its node can do without."""

from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.admission.pod_security.violations import (
    PodViolation,
    containers_of,
    context_of,
    has_own_users,
    is_windows,
    named,
    offenders,
    quoted,
    setters,
)

VOLUMES = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)
PROFILES = ("RuntimeDefault", "Localhost")


def privilege_escalation(_metadata: Document, spec: Document) -> Iterator[PodViolation]:
    names = offenders(spec, lambda c: context_of(c).get("allowPrivilegeEscalation") is not False)
    if names and not is_windows(spec):
        must = "must set securityContext.allowPrivilegeEscalation=false"
        yield PodViolation(
            "allowPrivilegeEscalation != false", f"{named('container', names)} {must}"
        )


def capabilities(_metadata: Document, spec: Document) -> Iterator[PodViolation]:
    if is_windows(spec):
        return

    def of(container: Document, kind: str) -> list[str]:
        return (context_of(container).get("capabilities") or {}).get(kind) or []

    details = []
    keeping = offenders(spec, lambda c: "ALL" not in of(c, "drop"))
    if keeping:
        must = 'must set securityContext.capabilities.drop=["ALL"]'
        details.append(f"{named('container', keeping)} {must}")
    adding = offenders(spec, lambda c: bool(set(of(c, "add")) - {"NET_BIND_SERVICE"}))
    if adding:
        bad = {each for c in containers_of(spec) for each in of(c, "add")} - {"NET_BIND_SERVICE"}
        details.append(
            f"{named('container', adding)} must not include {quoted(sorted(bad))} in "
            "securityContext.capabilities.add"
        )
    if details:
        yield PodViolation("unrestricted capabilities", "; ".join(details))


def volumes(_metadata: Document, spec: Document) -> Iterator[PodViolation]:
    bad = [
        (volume["name"], next((key for key in volume if key != "name"), ""))
        for volume in spec.get("volumes") or ()
        if VOLUMES.isdisjoint(volume)
    ]
    if bad:
        kinds = sorted({kind for _, kind in bad})
        use = "uses" if len(bad) == 1 else "use"
        many = "s" if len(kinds) > 1 else ""
        yield PodViolation(
            "restricted volume types",
            f"{named('volume', [name for name, _ in bad])} {use} restricted volume type{many} "
            f"{quoted(kinds)}",
        )


def run_as_non_root(_metadata: Document, spec: Document) -> Iterator[PodViolation]:
    if has_own_users(spec):
        return
    reason = "runAsNonRoot != true"
    wrong = setters(spec, lambda context: context.get("runAsNonRoot") is False)
    if wrong:
        yield PodViolation(reason, f"{wrong} must not set securityContext.runAsNonRoot=false")
    elif not context_of(spec).get("runAsNonRoot"):
        names = offenders(spec, lambda c: not context_of(c).get("runAsNonRoot"))
        if names:
            must = "must set securityContext.runAsNonRoot=true"
            yield PodViolation(reason, f"pod or {named('container', names)} {must}")


def run_as_user(_metadata: Document, spec: Document) -> Iterator[PodViolation]:
    who = setters(spec, lambda context: context.get("runAsUser") == 0)
    if who and not has_own_users(spec):
        yield PodViolation("runAsUser=0", f"{who} must not set runAsUser=0")


def seccomp(_metadata: Document, spec: Document) -> Iterator[PodViolation]:
    if is_windows(spec):
        return

    def profile(context: Document) -> str:
        chosen: str = (context.get("seccompProfile") or {}).get("type", "")
        return chosen

    wrong = setters(spec, lambda context: profile(context) not in ("", *PROFILES))
    if wrong:
        contexts = [context_of(spec), *map(context_of, containers_of(spec))]
        bad = sorted({profile(c) for c in contexts} - {"", *PROFILES})
        must = f"must not set securityContext.seccompProfile.type to {quoted(bad)}"
        yield PodViolation("seccompProfile", f"{wrong} {must}")
    elif not profile(context_of(spec)):
        names = offenders(spec, lambda c: not profile(context_of(c)))
        if names:
            must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
            yield PodViolation("seccompProfile", f"pod or {named('container', names)} {must}")
