"""ServiceAccount: every pod runs as an account of its namespace, and finds a token of it.

Unless the pod or the account says otherwise, each container gets a volume with a token, the
server's authority and the name of the namespace. Pods that kubelets mirror are left alone.
"""

import hashlib
from collections.abc import Iterator

from plimsoll.api.registry import Document
from plimsoll.apiserver.access.pod_references import (
    environment_secret_names,
    mounted_secret_names,
)
from plimsoll.apiserver.access.tokens.claims import PROJECTED_SECONDS
from plimsoll.apiserver.admission.attributes import Attributes, Operation
from plimsoll.apiserver.model.kinds.access.service_account import MOUNTABLE
from plimsoll.apiserver.model.status import ApiError, forbidden

DEFAULT = "default"
MIRROR = "kubernetes.io/config.mirror"
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
VOLUME_PREFIX = "kube-api-access-"
SUFFIX_LENGTH = 5
SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def admit(attributes: Attributes) -> None:
    if not _is_new_pod(attributes) or _is_mirror(attributes.document):
        return
    spec = attributes.document["spec"]
    name = spec.get("serviceAccountName") or DEFAULT
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    account = _account(attributes, name)
    if is_mounted(spec, account):
        mount_token(attributes.document)
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [dict(each) for each in account["imagePullSecrets"]]


def check(attributes: Attributes) -> None:
    pod = attributes.document
    if attributes.subresource == "ephemeralcontainers":
        _check_secrets(attributes, _with_ephemeral_alone(pod))
    elif _is_new_pod(attributes) and _is_mirror(pod):
        _check_mirror(attributes)
    elif _is_new_pod(attributes):
        _check_secrets(attributes, pod)


def _with_ephemeral_alone(pod: Document) -> Document:
    """What the pod had before was checked when it came."""
    spec = pod["spec"]
    left = {"containers": spec.get("ephemeralContainers") or []}
    return pod | {"spec": left | {"serviceAccountName": spec.get("serviceAccountName", "")}}


def _check_secrets(attributes: Attributes, pod: Document) -> None:
    account = _account(attributes, pod["spec"].get("serviceAccountName", ""))
    annotations = account["metadata"].get("annotations") or {}
    if annotations.get(MOUNTABLE) == "true":
        why = next(_unmountable(pod, account), None)
        if why is not None:
            raise _refused(attributes, why)


def _is_new_pod(attributes: Attributes) -> bool:
    return attributes.operation is Operation.CREATE and not attributes.subresource


def _is_mirror(pod: Document) -> bool:
    return MIRROR in (pod["metadata"].get("annotations") or {})


def _refused(attributes: Attributes, why: str) -> ApiError:
    return forbidden(attributes.resource, attributes.name, why)


def _account(attributes: Attributes, name: str) -> Document:
    account = attributes.reader.get("", "serviceaccounts", attributes.namespace, name)
    if account is None:
        raise _refused(
            attributes,
            f"error looking up service account {attributes.namespace}/{name}: "
            f'serviceaccount "{name}" not found',
        )
    return account


def is_mounted(spec: Document, account: Document) -> bool:
    """The pod's word counts before the account's."""
    for said in (spec, account):
        if said.get("automountServiceAccountToken") is not None:
            return bool(said["automountServiceAccountToken"])
    return True


def mount_token(pod: Document) -> None:
    """Each container that has nothing at the place of tokens gets the volume."""
    spec = pod["spec"]
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    without = [each for each in containers if not _has_mount(each)]
    if not without:
        return
    volume = token_volume(_volume_name(pod))
    for container in without:
        container.setdefault("volumeMounts", []).append(
            {"name": volume["name"], "readOnly": True, "mountPath": MOUNT_PATH}
        )
    spec.setdefault("volumes", []).append(volume)


def _has_mount(container: Document) -> bool:
    return any(each.get("mountPath") == MOUNT_PATH for each in container.get("volumeMounts") or ())


def _volume_name(pod: Document) -> str:
    """Of its own for each pod, and the same when a write is decided again."""
    digest = hashlib.sha256(pod["metadata"].get("uid", "").encode()).digest()
    letters = (SUFFIX_ALPHABET[byte % len(SUFFIX_ALPHABET)] for byte in digest[:SUFFIX_LENGTH])
    return VOLUME_PREFIX + "".join(letters)


def token_volume(name: str) -> Document:
    token = {"path": "token", "expirationSeconds": PROJECTED_SECONDS}
    authority = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    namespace = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "name": name,
        "projected": {
            "sources": [
                {"serviceAccountToken": token},
                {"configMap": authority},
                {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": namespace}]}},
            ],
            "defaultMode": 0o644,
        },
    }


def _check_mirror(attributes: Attributes) -> None:
    pod = attributes.document
    if pod["spec"].get("serviceAccountName"):
        raise _refused(attributes, "a mirror pod may not reference service accounts")
    if next(iter([*mounted_secret_names(pod), *environment_secret_names(pod)]), None) is not None:
        raise _refused(attributes, "a mirror pod may not reference secrets")


def _unmountable(pod: Document, account: Document) -> Iterator[str]:
    """Secrets that the account does not list, where it wants them listed."""
    name = account["metadata"]["name"]
    listed = {each.get("name", "") for each in account.get("secrets") or ()}
    for secret in mounted_secret_names(pod):
        if secret not in listed:
            yield (
                f'volume with secret.secretName="{secret}" is not allowed because service account '
                f"{name} does not reference that secret"
            )
    for secret in environment_secret_names(pod):
        if secret not in listed:
            yield (
                "a container with an environment variable referencing "
                f'secret.secretName="{secret}" is not allowed because service account {name} does '
                "not reference that secret"
            )
    pulling = {each.get("name", "") for each in account.get("imagePullSecrets") or ()}
    for reference in pod["spec"].get("imagePullSecrets") or ():
        if reference.get("name", "") not in pulling:
            yield (
                f'imagePullSecret "{reference.get("name", "")}" is not allowed because service '
                f"account {name} does not reference that imagePullSecret"
            )
