"""Kinds that Kubernetes advises against, told to clients beside every answer (Warning headers).

Pure: what a request is about in, sentences out. They are kube-apiserver's, so that a client which
looks for one of them finds it.
"""

from collections.abc import Mapping

from plimsoll.apiserver.http.requests import Target
from plimsoll.apiserver.model.custom.served_kind import CustomResource

DEPRECATED: Mapping[tuple[str, str], str] = {
    ("", "ComponentStatus"): "v1 ComponentStatus is deprecated in v1.19+",
    ("", "Endpoints"): (
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    ),
}
"""By (group, kind)."""


def deprecations(target: Target | None) -> tuple[str, ...]:
    """What to tell of the kind that the request is about, if it is about one."""
    if target is None:
        return ()
    if isinstance(target.resource, CustomResource):
        told = target.resource.served.deprecation
        return (told,) if told else ()
    known = DEPRECATED.get((target.resource.group, target.resource.kind))
    return () if known is None else (known,)
