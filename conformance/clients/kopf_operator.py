"""A small operator as users of kopf write it; `kopf run` loads it with the peers' own Python.

For each Mooring it creates a claim, which it owns, and writes the claim's name into the status.
A rope that changes is told in the status. Deleting a Mooring leaves a config map `farewell`. The
handler keeps a finalizer on the object until that is written.
"""

from typing import Any

import kopf
from kubernetes import client, config

config.load_kube_config()


@kopf.on.create("example.com", "v1", "moorings")
def created(spec: kopf.Spec, name: str, namespace: str | None, **_: Any) -> dict[str, str]:
    claim: dict[str, Any] = {
        "metadata": {"name": f"{name}-data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": spec["size"]}},
        },
    }
    kopf.adopt(claim)
    made = client.CoreV1Api().create_namespaced_persistent_volume_claim(namespace, claim)
    return {"claim": made.metadata.name}


@kopf.on.field("example.com", "v1", "moorings", field="spec.rope")
def roped(old: str | None, new: str | None, patch: kopf.Patch, **_: Any) -> None:
    patch.status["rope"] = f"{old} then {new}"


@kopf.on.resume("example.com", "v1", "moorings")
def resumed(patch: kopf.Patch, status: kopf.Status, **_: Any) -> None:
    patch.status["resumed"] = status.get("resumed", 0) + 1


@kopf.on.delete("example.com", "v1", "moorings")
def deleted(name: str, namespace: str | None, **_: Any) -> None:
    farewell = {"metadata": {"name": "farewell"}, "data": {"of": name}}
    client.CoreV1Api().create_namespaced_config_map(namespace, farewell)
