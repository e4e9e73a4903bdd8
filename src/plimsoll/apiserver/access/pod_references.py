"""The secrets, config maps and claims that a pod refers to; pure."""

from collections.abc import Iterator

from plimsoll.api.registry import Document

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
NODE_SECRETS = ("nodeStageSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef", "secretRef")
"""What a driver on a node is given. The secrets of its controller are none of a kubelet's."""


def claim_names(pod: Document) -> Iterator[str]:
    """Of volumes, those of generic ephemeral ones included."""
    for volume in _volumes(pod):
        if "persistentVolumeClaim" in volume:
            yield volume["persistentVolumeClaim"].get("claimName", "")
        if "ephemeral" in volume:
            yield f"{pod['metadata']['name']}-{volume.get('name', '')}"


def resource_claim_names(pod: Document) -> Iterator[str]:
    """Those that the pod names, and those that were made for it."""
    for holder, field in (("spec", "resourceClaims"), ("status", "resourceClaimStatuses")):
        for each in pod.get(holder, {}).get(field) or ():
            if each.get("resourceClaimName"):
                yield each["resourceClaimName"]


def secret_names(pod: Document) -> Iterator[str]:
    for reference in pod.get("spec", {}).get("imagePullSecrets") or ():
        yield reference.get("name", "")
    for volume in _volumes(pod):
        if "secret" in volume:
            yield volume["secret"].get("secretName", "")
        for source in volume.values():
            if isinstance(source, dict) and isinstance(source.get("secretRef"), dict):
                yield source["secretRef"].get("name", "")
        if "csi" in volume:
            yield (volume["csi"].get("nodePublishSecretRef") or {}).get("name", "")
        if "azureFile" in volume:
            yield volume["azureFile"].get("secretName", "")
    yield from _projected(pod, "secret")
    yield from _environment(pod, "secretRef", "secretKeyRef")


def config_map_names(pod: Document) -> Iterator[str]:
    for volume in _volumes(pod):
        if "configMap" in volume:
            yield volume["configMap"].get("name", "")
    yield from _projected(pod, "configMap")
    yield from _environment(pod, "configMapRef", "configMapKeyRef")


def mounted_secret_names(pod: Document) -> Iterator[str]:
    """Of volumes alone."""
    for volume in _volumes(pod):
        if "secret" in volume:
            yield volume["secret"].get("secretName", "")


def environment_secret_names(pod: Document) -> Iterator[str]:
    yield from _environment(pod, "secretRef", "secretKeyRef")


def volume_secrets(volume: Document) -> Iterator[tuple[str, str]]:
    """Namespace and name of what a PersistentVolume's driver is given on a node."""
    spec = volume.get("spec", {})
    namespace = (spec.get("claimRef") or {}).get("namespace", "")
    for source in spec.values():
        if not isinstance(source, dict):
            continue
        for field in NODE_SECRETS:
            reference = source.get(field)
            if isinstance(reference, dict):
                yield reference.get("namespace") or namespace, reference.get("name", "")
    shared = spec.get("azureFile")
    if shared:
        yield shared.get("secretNamespace") or namespace, shared.get("secretName", "")


def _volumes(pod: Document) -> list[Document]:
    return pod.get("spec", {}).get("volumes") or []


def _projected(pod: Document, kind: str) -> Iterator[str]:
    for volume in _volumes(pod):
        for source in (volume.get("projected") or {}).get("sources") or ():
            if kind in source:
                yield source[kind].get("name", "")


def _environment(pod: Document, whole: str, one: str) -> Iterator[str]:
    spec = pod.get("spec", {})
    for container in (each for field in CONTAINERS for each in spec.get(field) or ()):
        for source in container.get("envFrom") or ():
            if whole in source:
                yield source[whole].get("name", "")
        for variable in container.get("env") or ():
            source = variable.get("valueFrom") or {}
            if one in source:
                yield source[one].get("name", "")
