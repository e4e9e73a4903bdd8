"""What clients are told that want to talk to a container: there is none, but there are volumes.

Nodes of this program mount the volumes of pods and run no containers. A user who asks for logs or a
shell mostly wants to know what is on the volumes, so the answer says where they are.
"""

from collections.abc import Callable, Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.status import ApiError, bad_request

WANTED = {
    "attach": "nothing to attach to",
    "exec": "nothing to execute a command in",
    "log": "no logs",
    "portforward": "no port to forward to",
    "proxy": "nothing to hand requests on to",
}
"""By subresource: what a pod lacks for it."""

VolumeName = Callable[[str], str]
"""By the name of a claim in the pod's namespace: the volume that is bound to it, or nothing."""


def no_host(pod: Document) -> ApiError:
    return bad_request(f"pod {pod['metadata']['name']} does not have a host assigned")


def no_containers(pod: Document, subresource: str, volume_name: VolumeName) -> ApiError:
    """For a pod that is on a node."""
    meta, node = pod["metadata"], pod["spec"]["nodeName"]
    said = (
        f"no containers run here: pod {meta['namespace']}/{meta['name']} has {WANTED[subresource]}"
    )
    volumes = ", ".join(_volumes(pod, volume_name))
    if not volumes:
        return bad_request(f"{said}, and no volumes")
    where = f"in pods/{meta['uid']}, below the directory of node {node}"
    return bad_request(f"{said}; its volumes are {where}: {volumes}")


def _volumes(pod: Document, volume_name: VolumeName) -> Iterator[str]:
    for volume in pod["spec"].get("volumes") or ():
        source = next((key for key in volume if key != "name"), "")
        claim = _claim(pod, volume)
        if claim:
            bound = volume_name(claim)
            yield f"{volume['name']} ({f'volume {bound} of ' if bound else ''}claim {claim})"
        else:
            yield f"{volume['name']} ({source})"


def _claim(pod: Document, volume: Document) -> str:
    if "ephemeral" in volume:
        return f"{pod['metadata']['name']}-{volume['name']}"
    claim: str = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
    return claim
