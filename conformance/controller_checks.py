"""Our controller on any API server: the stories of `cluster_stories`, and provisioning of its own.

On a real kube-apiserver no kube-controller-manager runs beside it.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import uvloop

from conformance.cluster_stories import (
    CLAIM_SPEC,
    CLAIMS,
    CLASSES,
    STORIES,
    VOLUMES,
    Place,
    Story,
    tell,
)
from conformance.programs import OUR_CLUSTER_LOOPS, OUR_LOOPS, our_controller


def provisioning_stories(directory: Path) -> tuple[Story, ...]:
    root = directory / "provisioners" / "plimsoll.dev_host-path"

    async def story_a_directory_is_made_for_a_claim_and_goes_with_it(at: Place) -> None:
        name = await _provisioned(at, "plimsoll.dev/host-path", {})
        assert _names(root) == [name]
        await at.delete(CLAIMS, "data")
        await at.gone(VOLUMES, name)
        assert _names(root) == []
        await at.delete(CLASSES, at.namespace)

    async def story_a_replicated_disk_is_made_and_outlives_its_class(at: Place) -> None:
        zones = {"zones": "europe-a,europe-b,europe-c", "replication": "two-zones"}
        name = await _provisioned(at, "plimsoll.dev/zonal-disk", zones)
        made = await at.phase(VOLUMES, name, "Bound")
        label = made["metadata"]["labels"]["topology.kubernetes.io/zone"]
        assert label.count("__") == 1, label
        await at.delete(CLASSES, at.namespace)
        await at.delete(CLAIMS, "data")
        await at.gone(VOLUMES, name)

    async def story_what_is_not_understood_is_refused(at: Place) -> None:
        await at.create(
            CLASSES,
            at.namespace,
            provisioner="plimsoll.dev/zonal-disk",
            parameters={"colour": "red"},
        )
        await at.create(CLAIMS, "data", spec=CLAIM_SPEC | {"storageClassName": at.namespace})
        await at.told("data", "ProvisioningFailed")
        assert await at.find(VOLUMES, await _volume_name(at)) is None
        await at.delete(CLASSES, at.namespace)

    return (
        story_a_directory_is_made_for_a_claim_and_goes_with_it,
        story_a_replicated_disk_is_made_and_outlives_its_class,
        story_what_is_not_understood_is_refused,
    )


async def _provisioned(at: Place, provisioner: str, parameters: dict[str, str]) -> str:
    await at.create(CLASSES, at.namespace, provisioner=provisioner, parameters=parameters)
    await at.create(CLAIMS, "data", spec=CLAIM_SPEC | {"storageClassName": at.namespace})
    bound = await at.phase(CLAIMS, "data", "Bound")
    name: str = bound["spec"]["volumeName"]
    assert name == await _volume_name(at)
    await at.phase(VOLUMES, name, "Bound")
    return name


async def _volume_name(at: Place) -> str:
    claim = await at.find(CLAIMS, "data")
    assert claim is not None
    return f"pvc-{claim['metadata']['uid']}"


def _names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def run(kubeconfig: Path, say: Callable[[str], None]) -> None:
    """Raises AssertionError when a story does not end as it should."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-controller-") as name:
        directory = Path(name)
        with our_controller(kubeconfig, directory, (*OUR_LOOPS, *OUR_CLUSTER_LOOPS)):
            uvloop.run(tell(kubeconfig, STORIES + provisioning_stories(directory), say))
