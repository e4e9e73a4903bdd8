"""What is written down in a node's directory: the volumes that an earlier process left there."""

from collections.abc import Iterator
from pathlib import Path

from plimsoll.decide.node.actual_state import (
    PERSISTENT,
    PublishedPlace,
    PublishedVolume,
    StagedVolume,
)
from plimsoll.decide.node.paths import CSI_DIRECTORY, DEVICES, STAGING, NodeLayout
from plimsoll.processes.node.directory.volume_data import names, read_data


def found_published(layout: NodeLayout) -> Iterator[PublishedVolume]:
    for uid in names(Path(layout.pods)):
        pod = Path(layout.pod(uid))
        for name in names(pod / "volumes" / CSI_DIRECTORY):
            place = PublishedPlace(uid, name)
            data = read_data(Path(layout.volume(place)))
            if data is not None:
                lifecycle = data.lifecycle or PERSISTENT
                yield PublishedVolume(place=place, device=data.device, lifecycle=lifecycle)
        for name in names(pod / DEVICES / CSI_DIRECTORY):
            data = read_data(Path(layout.device_data(name)))
            if data is not None:
                yield PublishedVolume(
                    place=PublishedPlace(uid, name), device=data.device, is_block=True
                )


def found_staged(layout: NodeLayout) -> Iterator[StagedVolume]:
    plugins = Path(layout.plugins)
    for driver in names(plugins):
        if driver == DEVICES:
            continue
        for digest in names(plugins / driver):
            data = read_data(plugins / driver / digest)
            if data is not None:
                yield StagedVolume(device=data.device, name=data.name)
    for name in names(plugins / DEVICES / STAGING):
        data = read_data(Path(layout.device_data(name)))
        if data is not None:
            yield StagedVolume(device=data.device, name=name, is_block=True)


def found_prepared(layout: NodeLayout) -> Iterator[PublishedPlace]:
    for uid in names(Path(layout.pods)):
        volumes = Path(layout.pod(uid)) / "volumes"
        for plugin in names(volumes):
            if plugin != CSI_DIRECTORY:
                yield from (PublishedPlace(uid, name) for name in names(volumes / plugin))
