"""Attaches and detaches volumes as pods come and go: `decide.csi.attach_detach` for every device.

The queue carries devices. For how long an attachment has been unwanted is remembered from when it
was first seen to be: a restart can only make the wait longer.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from plimsoll.api.core import Node
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import CSIDriver, VolumeAttachment
from plimsoll.api.volumes import PersistentVolume, PersistentVolumeClaim
from plimsoll.cache.store import StoreChange
from plimsoll.decide.csi.attach_detach import (
    AttachmentSite,
    WantedAttachment,
    decide_attachments,
    is_bound_pair,
    is_forced,
    needs_attaching,
    uses_claim,
    wants_volumes,
)
from plimsoll.decide.csi.devices import PLUGIN, Device, device_of_volume, inline_device
from plimsoll.decide.plan import Delete, Emit, Plan
from plimsoll.enact.enactor import Done
from plimsoll.reconcile.indexes import PODS_BY_CLAIM, PODS_BY_NODE, claims_of, node_of
from plimsoll.reconcile.loop import Loop, Tools
from plimsoll.wire.kind import typed

NODES = typed(Node)
VOLUMES_BY_DEVICE = "device"
PODS_BY_INLINE_DEVICE = "inline device"
NODES_BY_DEVICE = "attached device"
ATTACHMENTS_BY_VOLUME = "volume"
ATTACHMENTS_BY_INLINE_DEVICE = "inline device"
ATTACHMENTS_BY_NODE = "node"


class AttachDetach(Loop):
    name = "attach-detach"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        observed = tools.observed
        self._pods, self._nodes = observed.of(Pod), observed.of(Node)
        self._claims = observed.of(PersistentVolumeClaim)
        self._volumes = observed.of(PersistentVolume)
        self._attachments = observed.of(VolumeAttachment)
        self._drivers = observed.of(CSIDriver)
        self._index()
        self._pods.on_change(self._pod_changed)
        self._nodes.on_change(self._node_changed)
        self._claims.on_change(self._claim_changed)
        self._volumes.on_change(self._volume_changed)
        self._attachments.on_change(self._attachment_changed)
        self._drivers.on_change(self._driver_changed)
        self._unwanted_since: dict[str, float] = {}
        """By the attachment's uid."""
        self._told: dict[ObjectKey, frozenset[tuple[str, str]]] = {}
        """What pods were told by the last plan for a device: said once, not at every look."""
        self._forced = tools.metrics.counter(
            "attachdetach_controller_forced_detaches",
            "Devices detached although their node had not said that it was done with them.",
            ["reason"],
        )

    def _index(self) -> None:
        self._pods.index(PODS_BY_CLAIM, claims_of)
        self._pods.index(PODS_BY_NODE, node_of)
        self._pods.index(PODS_BY_INLINE_DEVICE, lambda pod: map(str, _inline_devices(pod)))
        self._volumes.index(VOLUMES_BY_DEVICE, lambda volume: map(str, _devices(volume)))
        self._nodes.index(NODES_BY_DEVICE, _listed_by)
        self._attachments.index(ATTACHMENTS_BY_VOLUME, lambda attachment: attachment.volume_names)
        self._attachments.index(ATTACHMENTS_BY_INLINE_DEVICE, _inline_device_of)
        self._attachments.index(ATTACHMENTS_BY_NODE, lambda found: [found.spec.node_name])

    # Which objects have to be looked at

    def _add(self, devices: Iterable[Device]) -> None:
        for device in devices:
            self.queue.add(ObjectKey("", str(device)))

    def _pod_changed(self, change: StoreChange[Pod]) -> None:
        for pod in (change.before, change.after):
            if pod is not None and pod.spec.node_name:
                self._add(_inline_devices(pod))
                for claim in pod.claims:
                    self._add_claim(self._claims.view().get(claim))

    def _claim_changed(self, change: StoreChange[PersistentVolumeClaim]) -> None:
        for claim in (change.before, change.after):
            self._add_claim(claim)

    def _add_claim(self, claim: PersistentVolumeClaim | None) -> None:
        if claim is not None and claim.spec.volume_name:
            volume = self._volumes.view().get(ObjectKey("", claim.spec.volume_name))
            self._add(_devices(volume) if volume is not None else ())

    def _volume_changed(self, change: StoreChange[PersistentVolume]) -> None:
        for volume in (change.before, change.after):
            if volume is not None:
                self._add(_devices(volume))

    def _attachment_changed(self, change: StoreChange[VolumeAttachment]) -> None:
        for attachment in (change.before, change.after):
            if attachment is not None:
                self._add(self._devices_of(attachment))

    def _node_changed(self, change: StoreChange[Node]) -> None:
        """Heartbeats change nothing that matters here."""
        before, after = change.before, change.after
        if before is not None and after is not None and _essence(before) == _essence(after):
            return
        for attachment in (
            self._attachments.view().by(ATTACHMENTS_BY_NODE, change.key.name).values()
        ):
            self._add(self._devices_of(attachment))
        if before is None:
            # Pods may have been there before their node was seen.
            for pod in self._pods.view().by(PODS_BY_NODE, change.key.name).values():
                self._pod_changed(StoreChange(pod.key, None, pod))

    def _driver_changed(self, change: StoreChange[CSIDriver]) -> None:
        for volume in self._volumes.view().objects.values():
            self._add(d for d in _devices(volume) if d.driver == change.key.name)

    def _devices_of(self, attachment: VolumeAttachment) -> list[Device]:
        found = [Device.parse(name) for name in _inline_device_of(attachment)]
        for name in attachment.volume_names:
            volume = self._volumes.view().get(ObjectKey("", name))
            found += _devices(volume) if volume is not None else self._recalled(attachment)
        return found

    def _recalled(self, attachment: VolumeAttachment) -> list[Device]:
        """Without its volume, only the node can still say what an attachment is about."""
        node = self._nodes.view().get(ObjectKey("", attachment.spec.node_name))
        names = _listed_by(node) if node is not None else []
        listed = [Device.parse(name.removeprefix(f"{PLUGIN}/")) for name in names]
        return [
            device
            for device in listed
            if device.attachment_name(attachment.spec.node_name) == attachment.name
        ]

    # One device

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        device = Device.parse(key.name)
        wanted, sites = self._observe(device)
        plan = decide_attachments(wanted, sites)
        if any(isinstance(write, Delete) for write in plan.writes):
            # A node may have begun to use the device without its watch having told us yet.
            sites = [await self._asked(site) for site in sites]
            plan = decide_attachments(wanted, sites)
        self._count_forced(device, sites, plan)
        outcome = await self.enact(key, self._without_repetition(key, plan))
        if isinstance(outcome, Done):
            self._remember(key, _said_by(plan))
        return None

    def _remember(self, key: ObjectKey, said: frozenset[tuple[str, str]]) -> None:
        if said:
            self._told[key] = said
        else:
            self._told.pop(key, None)

    def _observe(self, device: Device) -> tuple[WantedAttachment, list[AttachmentSite]]:
        volumes = list(self._volumes.view().by(VOLUMES_BY_DEVICE, str(device)).values())
        wanted = (
            WantedAttachment.volume(device, volumes[0])
            if volumes
            else WantedAttachment.inline(device)
        )
        pods: dict[str, list[Pod]] = {}
        for pod in self._pods_wanting(device, volumes):
            pods.setdefault(pod.spec.node_name, []).append(pod)
        attachments = self._attachments_of(device, volumes)
        listing = self._nodes.view().by(NODES_BY_DEVICE, device.unique_name)
        names = sorted(pods.keys() | attachments.keys() | {key.name for key in listing})
        return wanted, [
            AttachmentSite(
                name=name,
                node=self._nodes.view().get(ObjectKey("", name)),
                pods=tuple(pods.get(name, ())),
                attachment=attachments.get(name),
                unwanted_for=self._unwanted_for(attachments.get(name), is_wanted=name in pods),
            )
            for name in names
        ]

    def _pods_wanting(self, device: Device, volumes: list[PersistentVolume]) -> list[Pod]:
        if not needs_attaching(self._drivers.view().get(ObjectKey("", device.driver))):
            return []
        view = self._pods.view()
        found = dict(view.by(PODS_BY_INLINE_DEVICE, str(device)))
        for volume in volumes:
            claim = self._claims.view().get(volume.spec.claim) if volume.spec.claim else None
            if claim is None or not is_bound_pair(claim, volume):
                continue
            users = view.by(PODS_BY_CLAIM, str(claim.key))
            found |= {key: pod for key, pod in users.items() if uses_claim(pod, claim)}
        return [pod for pod in found.values() if wants_volumes(pod)]

    def _attachments_of(
        self, device: Device, volumes: list[PersistentVolume]
    ) -> dict[str, VolumeAttachment]:
        """By node."""
        view = self._attachments.view()
        found = list(view.by(ATTACHMENTS_BY_INLINE_DEVICE, str(device)).values())
        for volume in volumes:
            found += view.by(ATTACHMENTS_BY_VOLUME, volume.name).values()
        if not volumes:
            # The volume is gone before its attachment: it is still found by its name.
            names = (device.attachment_name(key.name) for key in self._nodes.view().objects)
            named = (view.get(ObjectKey("", name)) for name in names)
            found += [attachment for attachment in named if attachment is not None]
        return {a.spec.node_name: a for a in found if a.spec.attacher == device.driver}

    def _unwanted_for(self, attachment: VolumeAttachment | None, *, is_wanted: bool) -> timedelta:
        if attachment is None:
            return timedelta()
        if is_wanted:
            self._unwanted_since.pop(attachment.uid, None)
            return timedelta()
        now = self.tools.clock.monotonic()
        return timedelta(seconds=now - self._unwanted_since.setdefault(attachment.uid, now))

    async def _asked(self, site: AttachmentSite) -> AttachmentSite:
        """The site with its node as the server has it now."""
        node = await self.tools.client.find(NODES, ObjectKey("", site.name))
        return replace(site, node=node)

    def _count_forced(self, device: Device, sites: list[AttachmentSite], plan: Plan) -> None:
        names = {write.key.name for write in plan.writes if isinstance(write, Delete)}
        for site in sites:
            attachment = site.attachment
            if attachment is not None and attachment.name in names:
                self._unwanted_since.pop(attachment.uid, None)
                if is_forced(device, site):
                    reason = "out-of-service" if site.is_out_of_service else "timeout"
                    self._forced.labels(reason).inc()

    def _without_repetition(self, key: ObjectKey, plan: Plan) -> Plan:
        known = self._told.get(key, frozenset())
        return replace(
            plan,
            writes=tuple(
                write
                for write in plan.writes
                if not isinstance(write, Emit) or _said(write) not in known
            ),
        )


def _said_by(plan: Plan) -> frozenset[tuple[str, str]]:
    return frozenset(_said(write) for write in plan.writes if isinstance(write, Emit))


def _said(event: Emit) -> tuple[str, str]:
    return event.regarding["metadata"]["uid"], event.message


def _essence(node: Node) -> tuple[object, ...]:
    status = node.status
    return (
        node.uid,
        node.is_ready,
        node.spec.taints,
        status.volumes_in_use,
        status.volumes_attached,
    )


def _devices(volume: PersistentVolume) -> list[Device]:
    device = device_of_volume(volume)
    return [] if device is None else [device]


def _inline_devices(pod: Pod) -> list[Device]:
    found = (inline_device(volume) for volume in pod.spec.volumes)
    return [device for device in found if device is not None]


def _inline_device_of(attachment: VolumeAttachment) -> list[str]:
    spec = attachment.spec.source.inline_volume_spec
    device = Device.of(spec.csi) if spec is not None else None
    return [] if device is None else [str(device)]


def _listed_by(node: Node) -> list[str]:
    """What the node was told is attached, as far as it is ours."""
    names = (volume.name for volume in node.status.volumes_attached)
    return [name for name in names if name.startswith(f"{PLUGIN}/")]
