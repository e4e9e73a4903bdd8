"""Volumes of in-tree plugins, as the CSI drivers that took over see them.

Only what scheduling needs is translated: driver, handle, and from which nodes the volume can be
reached. Zones move from the labels that Kubernetes gives to nodes to the one that the driver does.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from plimsoll.api.pods import PodVolume
from plimsoll.api.selectors.node import NodeRequirementSpec, NodeSelectorSpec, NodeTermSpec
from plimsoll.api.storage import CSINode
from plimsoll.api.volumes import CsiSource, InTreeSources, PersistentVolume, VolumeNodeAffinity
from plimsoll.decide.annotations import MIGRATED_PLUGINS
from plimsoll.decide.csi.migration import DRIVER_BY_PLUGIN

AWS, AZURE_DISK, AZURE_FILE, CINDER, GCE, PORTWORX, VSPHERE = (
    "kubernetes.io/aws-ebs",
    "kubernetes.io/azure-disk",
    "kubernetes.io/azure-file",
    "kubernetes.io/cinder",
    "kubernetes.io/gce-pd",
    "kubernetes.io/portworx-volume",
    "kubernetes.io/vsphere-volume",
)
TRANSLATED = frozenset({AWS, AZURE_DISK, CINDER, GCE, PORTWORX})
"""The plugins whose volumes a scheduler sees through the eyes of the driver."""

ZONE_KEYS: Mapping[str, str] = {
    AWS: "topology.ebs.csi.aws.com/zone",
    CINDER: "topology.cinder.csi.openstack.org/zone",
    GCE: "topology.gke.io/zone",
}
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
SEVERAL = "__"
"""Stands between the zones of a volume that is in several of them."""

UNSPECIFIED = "UNSPECIFIED"
GCE_ZONE_PARTS = 3
EBS_VOLUME = re.compile(r"vol-[^/]*")


def plugin_of(source: InTreeSources) -> str | None:
    """The in-tree plugin of this volume; None if it has none, or the plugin was not migrated."""
    sources = {
        AWS: source.aws_elastic_block_store,
        AZURE_DISK: source.azure_disk,
        AZURE_FILE: source.azure_file,
        CINDER: source.cinder,
        GCE: source.gce_persistent_disk,
        PORTWORX: source.portworx_volume,
        VSPHERE: source.vsphere_volume,
    }
    return next((plugin for plugin, found in sources.items() if found is not None), None)


def is_left_to_driver(plugin: str, csi_node: CSINode | None) -> bool:
    """Whether the node says that it leaves this plugin's volumes to the CSI driver."""
    if plugin not in TRANSLATED or csi_node is None:
        return False
    return plugin in csi_node.annotations.get(MIGRATED_PLUGINS, "").split(",")


def seen_from_node(volume: PersistentVolume, csi_node: CSINode | None) -> PersistentVolume:
    """The volume as the node's drivers see it. Raises ValueError if it cannot be translated."""
    plugin = plugin_of(volume.spec)
    if plugin is None or not is_left_to_driver(plugin, csi_node):
        return volume
    return translated(volume)


def translated(volume: PersistentVolume) -> PersistentVolume:
    """With a CSI source in place of one of the TRANSLATED plugins. Raises ValueError."""
    plugin = plugin_of(volume.spec)
    if plugin is None or plugin not in TRANSLATED:
        return volume
    if plugin == GCE and volume.spec.gce_persistent_disk:
        handle = _gce_handle(volume.spec.gce_persistent_disk.pd_name, _zone_label(volume))
    else:
        handle = _handle(volume.spec)
    affinity = volume.spec.node_affinity
    if key := ZONE_KEYS.get(plugin):
        affinity = _translated_affinity(volume, key)
    spec = msgspec.structs.replace(
        volume.spec,
        csi=CsiSource(driver=DRIVER_BY_PLUGIN[plugin], volume_handle=handle),
        node_affinity=affinity,
        aws_elastic_block_store=None,
        azure_disk=None,
        cinder=None,
        gce_persistent_disk=None,
        portworx_volume=None,
    )
    return msgspec.structs.replace(volume, spec=spec)


def inline_source(volume: PodVolume) -> CsiSource | None:
    """For a volume that the pod describes itself. Raises ValueError if it makes no sense."""
    plugin = plugin_of(volume)
    if plugin is None:
        return None
    return CsiSource(driver=DRIVER_BY_PLUGIN[plugin], volume_handle=_handle(volume))


def _handle(source: InTreeSources) -> str:
    if source.aws_elastic_block_store:
        return _ebs_handle(source.aws_elastic_block_store.volume_id)
    if disk := source.azure_disk:
        if disk.kind is not None and disk.kind.lower() != "managed":
            raise ValueError(f"kind({disk.kind}) is not supported in csi migration")
        return disk.disk_uri
    if source.gce_persistent_disk:
        return _gce_handle(source.gce_persistent_disk.pd_name, "")
    plain = source.cinder or source.portworx_volume
    return plain.volume_id if plain else ""


def _ebs_handle(identifier: str) -> str:
    """Plain, or in a URL behind the zone."""
    if not identifier.startswith("aws://"):
        return identifier
    handle = unquote(urlsplit(identifier).path).strip("/")
    if not EBS_VOLUME.fullmatch(handle):
        raise ValueError(
            "failed to translate Kubernetes ID to EBS Volume ID "
            f"Invalid format for AWS volume ({identifier})"
        )
    return handle


def _zone_label(volume: PersistentVolume) -> str:
    return volume.labels.get(BETA_ZONE) or volume.labels.get(ZONE, "")


def _gce_handle(disk: str, zone_label: str) -> str:
    zones = zone_label.split(SEVERAL)
    if len(zones) > 1:
        place = f"regions/{_gce_region(zones)}"
    else:
        place = f"zones/{zone_label or UNSPECIFIED}"
    return f"projects/{UNSPECIFIED}/{place}/disks/{disk}"


def _gce_region(zones: list[str]) -> str:
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != GCE_ZONE_PARTS:
            raise ValueError(
                "failed to get region from zones: zone in unexpected format, expected: "
                f"{{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) > 1:
        listed = " ".join(f"{region}:{{}}" for region in sorted(regions))
        raise ValueError(
            "failed to get region from zones: "
            f"multiple or no regions gotten from zones, got: map[{listed}]"
        )
    return regions.pop()


class _Labels(NamedTuple):
    zone: str
    region: str


STABLE, BETA = _Labels(ZONE, REGION), _Labels(BETA_ZONE, BETA_REGION)


def _translated_affinity(volume: PersistentVolume, key: str) -> VolumeNodeAffinity | None:
    """Zones in the affinity go before those in the volume's labels."""
    required = volume.spec.required_nodes
    terms = required.node_selector_terms if required else ()
    labels = _labels_in_use(volume, terms)
    if any(requirement.values for requirement in _about(terms, labels.zone)):
        terms = _renamed(terms, labels.zone, key)
    else:
        zones = {zone.strip() for zone in volume.labels.get(labels.zone, "").split(SEVERAL)} - {""}
        if zones:
            terms = _with_requirement(terms, key, tuple(sorted(zones)))
    if labels is BETA and any(requirement.values for requirement in _about(terms, BETA_REGION)):
        # Newer nodes carry the stable label alone.
        terms = _renamed(terms, BETA_REGION, REGION)
    if required is None and not terms:
        return volume.spec.node_affinity
    return VolumeNodeAffinity(required=NodeSelectorSpec(node_selector_terms=terms))


def _labels_in_use(volume: PersistentVolume, terms: tuple[NodeTermSpec, ...]) -> _Labels:
    for labels in (STABLE, BETA):
        if next(_about(terms, labels.zone), None) is not None:
            return labels
    return BETA if ZONE not in volume.labels and BETA_ZONE in volume.labels else STABLE


def _about(terms: tuple[NodeTermSpec, ...], key: str) -> Iterator[NodeRequirementSpec]:
    for term in terms:
        for requirement in term.match_expressions:
            if requirement.key == key:
                yield requirement


def _renamed(terms: tuple[NodeTermSpec, ...], key: str, new_key: str) -> tuple[NodeTermSpec, ...]:
    return tuple(
        msgspec.structs.replace(
            term,
            match_expressions=tuple(
                msgspec.structs.replace(requirement, key=new_key)
                if requirement.key == key
                else requirement
                for requirement in term.match_expressions
            ),
        )
        for term in terms
    )


def _with_requirement(
    terms: tuple[NodeTermSpec, ...], key: str, values: tuple[str, ...]
) -> tuple[NodeTermSpec, ...]:
    added = NodeRequirementSpec(key=key, operator="In", values=values)
    return tuple(
        msgspec.structs.replace(term, match_expressions=(*term.match_expressions, added))
        for term in terms or (NodeTermSpec(),)
    )
