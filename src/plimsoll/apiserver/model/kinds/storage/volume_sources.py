"""Where a volume's bytes are: exactly one source per volume, each with its own rule.

The sources of old in-tree drivers are accepted and checked like all others, because volumes that
name them are still around.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.storage import source_rules as rules

PORTAL_LIMIT = 64
PORTAL_TOO_LONG = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
    "if iscsi.initiatorName is specified."
)


@dataclass(frozen=True, slots=True)
class SourceRule:
    """`inside` and `surplus` are names that complaints use instead of `key`, where they differ."""

    key: str
    rule: rules.SourceRule
    inside: str = ""
    surplus: str = ""


# In this order: the first source found is the volume's, the others are one too many.
SOURCES = (
    SourceRule("hostPath", rules.host_path),
    SourceRule(
        "gcePersistentDisk",
        rules.both(rules.required("pdName"), rules.partition),
        inside="persistentDisk",
    ),
    SourceRule("awsElasticBlockStore", rules.both(rules.required("volumeID"), rules.partition)),
    SourceRule(
        "glusterfs", rules.both(rules.required("endpoints", "path"), rules.gluster_namespace)
    ),
    SourceRule("flocker", rules.flocker),
    SourceRule("nfs", rules.both(rules.required("server", "path"), rules.nfs_path)),
    SourceRule("rbd", rules.required("monitors", "image")),
    SourceRule("quobyte", rules.quobyte),
    SourceRule("cephfs", rules.required("monitors"), surplus="cephFS"),
    SourceRule("iscsi", rules.iscsi),
    SourceRule("cinder", rules.both(rules.required("volumeID"), rules.secret_named)),
    SourceRule("fc", rules.fibre_channel),
    SourceRule("flexVolume", rules.both(rules.required("driver"), rules.flex_options)),
    SourceRule(
        "azureFile",
        rules.both(rules.required("secretName", "shareName"), rules.azure_file_namespace),
    ),
    SourceRule("vsphereVolume", rules.required("volumePath")),
    SourceRule("photonPersistentDisk", rules.required("pdID")),
    SourceRule("portworxVolume", rules.required("volumeID")),
    SourceRule("azureDisk", rules.azure_disk),
    SourceRule("scaleIO", rules.required("gateway", "system", "volumeName")),
    SourceRule("local", rules.local),
    SourceRule("storageos", rules.storage_os),
    SourceRule("csi", rules.csi),
)

# Absent or empty text becomes this.
TEXT_DEFAULTS: dict[str, dict[str, str]] = {
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "iscsi": {"iscsiInterface": "default"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
# Absent becomes this; an empty value stays.
DEFAULTS: dict[str, dict[str, Any]] = {
    "hostPath": {"type": ""},
    "azureDisk": {
        "cachingMode": "ReadWrite",
        "fsType": "ext4",
        "readOnly": False,
        "kind": "Shared",
    },
}
DEPRECATED = {
    "cephfs": "spec.cephfs: deprecated in v1.28, non-functional in v1.31+",
    "photonPersistentDisk": "spec.photonPersistentDisk: deprecated in v1.11, "
    "non-functional in v1.16+",
    "scaleIO": "spec.scaleIO: deprecated in v1.16, non-functional in v1.22+",
    "storageos": "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "spec.glusterfs: deprecated in v1.25, non-functional in v1.26+",
    "rbd": "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
}


def default_source(spec: Document) -> None:
    for key, fields in TEXT_DEFAULTS.items():
        if key in spec:
            for field, value in fields.items():
                spec[key][field] = spec[key].get(field) or value
    for key, fields in DEFAULTS.items():
        if key in spec:
            for field, value in fields.items():
                spec[key].setdefault(field, value)


def volume_source(spec: Document) -> Document:
    """The part of a volume's spec that says where it is."""
    return {source.key: spec[source.key] for source in SOURCES if source.key in spec}


def source_errors(spec: Document, path: str, *, name: str) -> Iterator[FieldError]:
    """`name` is the volume's, which some sources put into names of their own."""
    found = False
    for source in SOURCES:
        if source.key not in spec:
            continue
        # A flexVolume beside another source was never refused.
        if found and source.key != "flexVolume":
            yield FieldError.forbidden(
                f"{path}.{source.surplus or source.key}", "may not specify more than 1 volume type"
            )
            continue
        found = True
        yield from source.rule(spec[source.key], f"{path}.{source.inside or source.key}")
        if source.key == "iscsi":
            yield from _portal_errors(spec["iscsi"], f"{path}.iscsi", name=name)
        if source.key == "local" and "nodeAffinity" not in spec:
            yield FieldError.required(f"{path}.nodeAffinity", "Local volume requires node affinity")
    if not found:
        yield FieldError.required(path, "must specify a volume type")


def _portal_errors(source: Document, path: str, *, name: str) -> Iterator[FieldError]:
    """An initiator's name is made of the volume's name and the portal, and has a limited length."""
    portal = source.get("targetPortal", "")
    if "initiatorName" in source and len(f"{name}:{portal}") > PORTAL_LIMIT:
        yield FieldError.invalid(f"{path}.targetportal", portal, PORTAL_TOO_LONG)
