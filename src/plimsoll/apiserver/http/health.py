"""Health as kube-apiserver tells it: named checks, each with a path of its own.

The names are those of the real server, for what this server has as well. What kube-apiserver does
in hooks after its start is done here before the first answer, so that those never fail.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from plimsoll.apiserver.http.answers import Answer, text_answer
from plimsoll.apiserver.http.requests import Query
from plimsoll.wire.transport import Request

HOOKS = tuple(
    f"poststarthook/{name}"
    for name in (
        "start-apiserver-admission-initializer",
        "max-in-flight-filter",
        "start-apiextensions-informers",
        "start-apiextensions-controllers",
        "crd-informer-synced",
        "start-system-namespaces-controller",
        "start-cluster-authentication-info-controller",
        "storage-readiness",
        "start-legacy-token-tracking-controller",
        "rbac/bootstrap-roles",
        "scheduling/bootstrap-system-priority-classes",
        "bootstrap-controller",
    )
)
LIVENESS = ("ping", "log", "etcd", *HOOKS)
CHECKS = {
    "healthz": LIVENESS,
    "livez": LIVENESS,
    "readyz": ("ping", "log", "etcd", "etcd-readiness", "informer-sync", *HOOKS, "shutdown"),
}
"""By probe, in the order in which the real server lists them. `etcd` is whether objects can be
read, which they can be from memory; `etcd-readiness` is whether they can be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What the checks look at."""

    store_failure: str = ""
    """Why nothing can be stored, empty while all is well."""
    is_stopping: bool = False

    @property
    def failures(self) -> dict[str, str]:
        """Why a check fails, by its name. Only the path of that check tells the reason, which
        takes a right that the anonymous do not have."""
        failures = {}
        if self.store_failure:
            failures["etcd-readiness"] = self.store_failure
        if self.is_stopping:
            failures["shutdown"] = "process is shutting down"
        return failures


def health_answer(request: Request, probe: str, health: Health) -> Answer | None:
    """The answer to `/readyz`, or to `/readyz/NAME`; None where there is no such check."""
    name = request.path.removeprefix(f"/{probe}")
    if not name:
        return _all_checks(Query(request), probe, health.failures)
    if name.removeprefix("/") not in CHECKS[probe]:
        return None
    why = health.failures.get(name.removeprefix("/"))
    return text_answer(f"internal server error: {why}\n", 500) if why else text_answer("ok")


def _all_checks(query: Query, probe: str, failures: dict[str, str]) -> Answer:
    excluded = set(query.all("exclude"))
    checks = CHECKS[probe]
    lines = [_line(name, failures, is_excluded=name in excluded) for name in checks]
    unknown = sorted(excluded.difference(checks))
    if unknown:
        lines.append(_complaint(unknown))
    if any(name in failures and name not in excluded for name in checks):
        return text_answer("".join([*lines, f"{probe} check failed\n"]), 500)
    if not query.has("verbose"):
        return text_answer("ok")
    return text_answer("".join([*lines, f"{probe} check passed\n"]))


def _line(name: str, failures: dict[str, str], *, is_excluded: bool) -> str:
    if is_excluded:
        return f"[+]{name} excluded: ok\n"
    return f"[-]{name} failed: reason withheld\n" if name in failures else f"[+]{name} ok\n"


def _complaint(unknown: Iterable[str]) -> str:
    named = ",".join(f'"{name}"' for name in unknown)
    return f"warn: some health checks cannot be excluded: no matches for {named}\n"
