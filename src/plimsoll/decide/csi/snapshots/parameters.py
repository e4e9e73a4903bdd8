"""Parameters of a snapshot class: which are for the driver, and which secrets they name.

Only names are worked out here. Templates may name the content and, while there is one, the
snapshot; the namespace of a secret never depends on what a user can choose.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll.api.names import dns_label_errors, dns_subdomain_errors
from plimsoll.api.snapshots import VolumeSnapshot, VolumeSnapshotContent
from plimsoll.api.volumes import SecretReference
from plimsoll.decide.provisioning.request.parameters import RESERVED

TOKEN = re.compile(r"\$\{(?P<name>[^}]*)\}")


@dataclass(frozen=True, slots=True)
class SnapshotSecretUse:
    title: str
    infix: str

    @property
    def name_key(self) -> str:
        return f"{RESERVED}{self.infix}-secret-name"

    @property
    def namespace_key(self) -> str:
        return f"{RESERVED}{self.infix}-secret-namespace"


SNAPSHOTTER = SnapshotSecretUse("Snapshotter", "snapshotter")
SNAPSHOTTER_LIST = SnapshotSecretUse("SnapshotterList", "snapshotter-list")
KNOWN = frozenset(
    key for use in (SNAPSHOTTER, SNAPSHOTTER_LIST) for key in (use.name_key, use.namespace_key)
)


def parse_driver_parameters(parameters: Mapping[str, str]) -> dict[str, str]:
    """Raises ValueError for a reserved key that means nothing."""
    unknown = sorted(key for key in parameters if key.startswith(RESERVED) and key not in KNOWN)
    if unknown:
        raise ValueError(
            f"found unknown parameter key {unknown[0]!r} with reserved namespace {RESERVED}"
        )
    return {key: value for key, value in parameters.items() if not key.startswith(RESERVED)}


def metadata_parameters(content: VolumeSnapshotContent) -> dict[str, str]:
    """For drivers that want to know the snapshot and the content that they work for."""
    reference = content.spec.volume_snapshot_ref
    return {
        f"{RESERVED}volumesnapshot/name": reference.name,
        f"{RESERVED}volumesnapshot/namespace": reference.namespace,
        f"{RESERVED}volumesnapshotcontent/name": content.name,
    }


def parse_secret(
    use: SnapshotSecretUse,
    parameters: Mapping[str, str],
    content: str,
    snapshot: VolumeSnapshot | None = None,
) -> SecretReference | None:
    """The secret that a class names for this use. Raises ValueError when it is misspelled."""
    name, namespace = parameters.get(use.name_key), parameters.get(use.namespace_key)
    if name is None and namespace is None:
        return None
    if not name or not namespace:
        raise ValueError(
            f"either name and namespace for {use.title} secrets specified, Both must be specified"
        )
    for_namespace = {"volumesnapshotcontent.name": content}
    if snapshot is not None:
        for_namespace["volumesnapshot.namespace"] = snapshot.namespace
    for_name = for_namespace | ({"volumesnapshot.name": snapshot.name} if snapshot else {})
    resolved = _resolved(namespace, for_namespace)
    if dns_label_errors(resolved):
        raise ValueError(f"{namespace!r} is not a valid namespace name")
    resolved_name = _resolved(name, for_name)
    if dns_subdomain_errors(resolved_name):
        raise ValueError(f"{name!r} is not a valid secret name")
    return SecretReference(name=resolved_name, namespace=resolved)


def _resolved(template: str, values: Mapping[str, str]) -> str:
    missing = sorted({token for token in TOKEN.findall(template) if token not in values})
    if missing:
        listed = " ".join(f'"{token}"' for token in missing)
        raise ValueError(f'error resolving value "{template}": invalid tokens: [{listed}]')
    return TOKEN.sub(lambda match: values[match["name"]], template)
