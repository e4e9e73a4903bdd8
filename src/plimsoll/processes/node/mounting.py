"""Carries out the steps of a volume: each is recorded, then the driver called, then marked done.

Every failure is one sentence for the pod's user, without secrets. Secrets are read at the moment
of the call and kept nowhere.
"""

from collections.abc import Mapping
from contextlib import suppress

from plimsoll.api.core import Secret
from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.storage import CSIDriver
from plimsoll.api.volumes import SecretReference
from plimsoll.decide.csi.devices import Device
from plimsoll.decide.node.actual_state import PublishedVolume, StagedVolume
from plimsoll.decide.node.features import (
    changes_only_roots,
    group_of,
    must_set_group,
    volume_context,
)
from plimsoll.decide.node.volumes import ExpandOnNode, NodePublish, NodeStage, PrepareVolume
from plimsoll.processes.node.directory.protocol import DirectoryError, FileGroup
from plimsoll.processes.node.drivers import RegisteredDriver
from plimsoll.processes.node.messages import (
    capability,
    expand_request,
    publish_request,
    stage_request,
)
from plimsoll.processes.node.served_node import ServedNode
from plimsoll.wire.csi.errors import DriverError, DriverFailure
from plimsoll.wire.csi.gen import csi_pb2 as csi
from plimsoll.wire.csi.methods import (
    NODE_EXPAND_VOLUME,
    NODE_PUBLISH_VOLUME,
    NODE_STAGE_VOLUME,
    NODE_UNPUBLISH_VOLUME,
    NODE_UNSTAGE_VOLUME,
)
from plimsoll.wire.kind import typed
from plimsoll.wire.kube import KubeClient

SECRETS = typed(Secret)


class MountError(Exception):
    """A step failed and is to be tried again; the text is for the pod's user."""


class NodeMounting:
    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def prepare(self, served: ServedNode, pod: Pod, step: PrepareVolume) -> None:
        group = group_of(pod)
        wanted = (
            FileGroup(id=group, only_roots=changes_only_roots(pod)) if group is not None else None
        )
        try:
            await served.directory.prepare(step.volume, step.place, wanted)
        except DirectoryError as error:
            raise MountError(_failed("SetUp", step.volume.name, error)) from error

    async def stage(self, served: ServedNode, pod: Pod, step: NodeStage) -> None:
        driver, name = _driver(served, step.entry.device), step.volume.name
        wanted = capability(step.volume, driver.features, group_of(pod))
        secrets = await self._secrets(step.volume.stage_secret, "NodeStageSecretRef", name)
        request = stage_request(step, served.directory.layout, wanted, secrets)
        try:
            await served.directory.begin_stage(step.entry)
            await driver.call(NODE_STAGE_VOLUME, request, secrets=secrets)
            await served.directory.end_stage(step.entry)
        except (DriverError, DirectoryError) as error:
            raise MountError(_failed("MountDevice", name, error)) from error

    async def publish(
        self, served: ServedNode, pod: Pod, step: NodePublish, about: CSIDriver | None
    ) -> None:
        """`about` is the driver as the cluster knows it."""
        volume, entry = step.volume, step.entry
        driver = _driver(served, entry.device)
        wanted = capability(volume, driver.features, group_of(pod))
        secrets = await self._secrets(volume.publish_secret, "NodePublishSecretRef", volume.name)
        request = publish_request(step, served.directory.layout, wanted, secrets)
        request.volume_context.update(volume_context(pod, volume, about))
        try:
            await served.directory.begin_publish(entry)
            await driver.call(NODE_PUBLISH_VOLUME, request, secrets=secrets)
            group = group_of(pod)
            if group is not None and must_set_group(pod, volume, about, driver.features):
                given = FileGroup(id=group, only_roots=changes_only_roots(pod))
                await served.directory.give(entry, given)
            await served.directory.end_publish(entry)
        except (DriverError, DirectoryError) as error:
            if isinstance(error, DriverError) and error.failure is DriverFailure.WRONG_STATE:
                await _doubt_stage(served, entry.device)
            raise MountError(_failed("SetUp", volume.name, error)) from error

    async def expand(self, served: ServedNode, step: ExpandOnNode) -> None:
        driver, volume = _driver(served, step.entry.device), step.volume
        wanted = capability(volume, driver.features, None)
        secrets = await self._secrets(volume.expand_secret, "NodeExpandSecretRef", volume.name)
        request = expand_request(step, served.directory.layout, wanted, secrets)
        try:
            await driver.call(NODE_EXPAND_VOLUME, request, secrets=secrets)
        except DriverError as error:
            raise MountError(_failed("NodeExpandVolume", volume.name, error)) from error

    async def unpublish(self, served: ServedNode, entry: PublishedVolume) -> None:
        driver, directory = _driver(served, entry.device), served.directory
        request = csi.NodeUnpublishVolumeRequest(
            volume_id=entry.device.handle, target_path=directory.layout.target_path(entry)
        )
        try:
            await driver.call(NODE_UNPUBLISH_VOLUME, request)
            await directory.drop_publish(entry)
        except (DriverError, DirectoryError) as error:
            raise MountError(_not_undone("TearDown", entry.place.name, error)) from error

    async def unstage(self, served: ServedNode, entry: StagedVolume) -> None:
        driver, directory = _driver(served, entry.device), served.directory
        request = csi.NodeUnstageVolumeRequest(
            volume_id=entry.device.handle, staging_target_path=directory.layout.staging_path(entry)
        )
        try:
            # From here on it may be unstaged, whatever the answer: it is staged anew if need be.
            if entry.sure:
                await directory.begin_stage(entry)
            await driver.call(NODE_UNSTAGE_VOLUME, request)
            await directory.drop_stage(entry)
        except (DriverError, DirectoryError) as error:
            name = entry.name or entry.device.handle
            raise MountError(_not_undone("UnmountDevice", name, error)) from error

    async def _secrets(
        self, reference: SecretReference | None, role: str, volume: str
    ) -> Mapping[str, str]:
        if reference is None:
            return {}
        key = ObjectKey(reference.namespace, reference.name)
        found = await self._client.find(SECRETS, key)
        if found is None:
            problem = f"fetching {role} {key} failed: the secret does not exist"
            raise MountError(_failed("SetUp", volume, problem))
        try:
            return {name: value.decode() for name, value in found.data.items()}
        except UnicodeDecodeError:
            problem = f"fetching {role} {key} failed: its values are not all text"
            raise MountError(_failed("SetUp", volume, problem)) from None


def _driver(served: ServedNode, device: Device) -> RegisteredDriver:
    found = served.drivers.find(device.driver)
    if found is None:
        raise MountError(
            f"driver name {device.driver} not found in the list of registered CSI drivers"
        )
    return found


async def _doubt_stage(served: ServedNode, device: Device) -> None:
    """The driver does not know the volume as staged, because it was fenced or detached while the
    node was away. It is staged again before the next attempt."""
    staged = served.directory.actual.staged.get(device)
    if staged is not None and staged.sure:
        with suppress(DirectoryError):  # The driver's complaint is the one to be told.
            await served.directory.begin_stage(staged)


def _failed(what: str, volume: str, error: object) -> str:
    return f'MountVolume.{what} failed for volume "{volume}" : {error}'


def _not_undone(what: str, volume: str, error: object) -> str:
    return f'UnmountVolume.{what} failed for volume "{volume}" : {error}'
