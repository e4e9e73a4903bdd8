"""What each kind of volume source in a pod must say.

Complaints use the paths clients know, odd ones included: `persistentDisk` for gcePersistentDisk,
`initiatorname` for iSCSI. Where pods and PersistentVolumes agree, the rules are those of volumes.
"""

from collections.abc import Iterator

from plimsoll.api.quantity import parse_quantity
from plimsoll.api.registry import Document
from plimsoll.apiserver.model.field_errors import FieldError
from plimsoll.apiserver.model.kinds.pods.images import PULL_POLICIES
from plimsoll.apiserver.model.kinds.pods.values import (
    descending_path,
    dns_label,
    dns_subdomain,
    file_mode,
    in_range,
    required_one_of,
)
from plimsoll.apiserver.model.kinds.pods.volumes.projections import (
    downward_file_errors,
    key_to_path_errors,
    projected_errors,
)
from plimsoll.apiserver.model.kinds.storage import source_rules as shared
from plimsoll.apiserver.model.kinds.storage.driver_names import driver_name_errors
from plimsoll.apiserver.model.kinds.storage.source_rules import SourceRule, both, required


def _nothing(_source: Document, _path: str) -> Iterator[FieldError]:
    yield from ()


def _empty_dir(source: Document, path: str) -> Iterator[FieldError]:
    if parse_quantity(source.get("sizeLimit", "0")).sign < 0:
        yield FieldError.forbidden(
            f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity"
        )


def _git_directory(source: Document, path: str) -> Iterator[FieldError]:
    yield from descending_path(source.get("directory", ""), f"{path}.directory")


def _keys(source: Document, path: str) -> Iterator[FieldError]:
    yield from file_mode(source.get("defaultMode"), f"{path}.defaultMode")
    yield from key_to_path_errors(source.get("items") or [], f"{path}.items")


def _iscsi(source: Document, path: str) -> Iterator[FieldError]:
    yield from required("targetPortal", "iqn")(source, path)
    yield from _initiator(source.get("iqn", ""), f"{path}.iqn")
    yield from in_range(source.get("lun", 0), f"{path}.lun", 0, shared.LARGEST_LUN)
    authenticates = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if authenticates and "secretRef" not in source:
        yield FieldError.required(f"{path}.secretRef")
    if "initiatorName" in source:
        yield from _initiator(source["initiatorName"] or "?", f"{path}.initiatorname")


def _initiator(name: str, path: str) -> Iterator[FieldError]:
    form = shared.INITIATORS.get(name[:3])
    if name and (form is None or not form.search(name)):
        yield FieldError.invalid(path, name, "must be valid format starting with iqn, eui, or naa")


def _secret_name(source: Document, path: str) -> Iterator[FieldError]:
    if "secretRef" in source:
        yield from required("name")(source["secretRef"], f"{path}.secretRef")


def _storage_os_names(source: Document, path: str) -> Iterator[FieldError]:
    for field in ("volumeName", "volumeNamespace"):
        if source.get(field):
            yield from dns_label(source[field], f"{path}.{field}")


def _downward_api(source: Document, path: str) -> Iterator[FieldError]:
    yield from file_mode(source.get("defaultMode"), f"{path}.defaultMode")
    yield from downward_file_errors(source.get("items") or [], path)


def _csi(source: Document, path: str) -> Iterator[FieldError]:
    yield from driver_name_errors(source.get("driver", ""), f"{path}.driver")
    if "nodePublishSecretRef" not in source:
        return
    name = source["nodePublishSecretRef"].get("name", "")
    if name:
        yield from dns_subdomain(name, f"{path}.name")
    else:
        yield FieldError.required(f"{path}.nodePublishSecretRef.name")


def _image(source: Document, path: str) -> Iterator[FieldError]:
    yield from required_one_of(source.get("pullPolicy", ""), f"{path}.pullPolicy", PULL_POLICIES)


SOURCES: dict[str, SourceRule] = {
    "emptyDir": _empty_dir,
    "hostPath": shared.host_path,
    "gitRepo": both(required("repository"), _git_directory),
    "gcePersistentDisk": both(required("pdName"), shared.partition),
    "awsElasticBlockStore": both(required("volumeID"), shared.partition),
    "secret": both(required("secretName"), _keys),
    "nfs": both(required("server", "path"), shared.nfs_path),
    "iscsi": _iscsi,
    "glusterfs": required("endpoints", "path"),
    "flocker": shared.flocker,
    "persistentVolumeClaim": required("claimName"),
    "rbd": required("monitors", "image"),
    "cinder": both(required("volumeID"), _secret_name),
    "cephfs": required("monitors"),
    "quobyte": shared.quobyte,
    "downwardAPI": _downward_api,
    "fc": shared.fibre_channel,
    "flexVolume": both(required("driver"), shared.flex_options),
    "configMap": both(required("name"), _keys),
    "azureFile": required("secretName", "shareName"),
    "vsphereVolume": required("volumePath"),
    "photonPersistentDisk": required("pdID"),
    "portworxVolume": required("volumeID"),
    "azureDisk": shared.azure_disk,
    "storageos": both(required("volumeName"), both(_storage_os_names, _secret_name)),
    "projected": projected_errors,
    "scaleIO": required("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _nothing,
    "image": _image,
}
"""In the order in which the API looks at them: the first one counts, the others are too many.

Ephemeral volumes are checked where the name of the pod is known.
"""

CHECKED_AS = {"gcePersistentDisk": "persistentDisk"}
TOO_MANY_AS = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
