"""The steps about CSI: the originals around our driver, and original drivers in our cluster."""

import functools

from conformance import csi_backends, csi_node
from conformance.csi_checks import HOSTPATH, OUR_LOCAL, OUR_POOLS, Cast, Kit, Program, play
from conformance.csi_sidecars import csi_provisioner, csi_resizer, csi_snapshotter
from conformance.csi_stories import GROWTH_STORIES, SNAPSHOT_STORIES, VOLUME_STORIES
from conformance.programs import kube_controller_manager, our_controller
from conformance.step import Servers, Step, tell
from tests.servers import Endpoint

ORIGINALS = (csi_provisioner, csi_resizer, csi_snapshotter)
STORIES = VOLUME_STORIES + GROWTH_STORIES + SNAPSHOT_STORIES


def real_sidecars_with_our_driver(servers: Servers) -> None:
    """On the real server beside the real kube-controller-manager, on ours beside our controller."""
    _tell("real", servers.real, OUR_LOCAL, kube_controller_manager)
    _tell("embedded", servers.embedded, OUR_LOCAL, our_controller)
    _tell("embedded, pools", servers.embedded, OUR_POOLS, our_controller)


def real_sidecars_with_hostpathplugin(servers: Servers) -> None:
    """Only the API server and the controller are ours."""
    _tell("embedded", servers.embedded, HOSTPATH, our_controller)


def our_node_with_hostpathplugin(servers: Servers) -> None:
    """The real driver, registrar and provisioner, on both servers."""
    on_real = functools.partial(csi_node.play, servers.real.kubeconfig, kube_controller_manager)
    on_embedded = functools.partial(csi_node.play, servers.embedded.kubeconfig, our_controller)
    tell("real", on_real)
    tell("embedded", on_embedded)


def _tell(name: str, endpoint: Endpoint, kit: Kit, controller: Program) -> None:
    cast = Cast(kubeconfig=endpoint.kubeconfig, kit=kit, controller=controller, sidecars=ORIGINALS)
    tell(name, lambda say: play(cast, STORIES, say))


def sanity(_servers: Servers) -> None:
    tell("csi-sanity", csi_backends.one_client)


def sanity_of_many(_servers: Servers) -> None:
    tell("csi-sanity", csi_backends.many_clients)


CSI_STEPS = (
    Step("csi-sanity on every backend of our driver", sanity),
    Step("csi-sanity, eight at once, on every backend of our driver", sanity_of_many),
    Step("the real sidecars with our driver on both", real_sidecars_with_our_driver),
    Step(
        "the real sidecars with hostpathplugin on the embedded server",
        real_sidecars_with_hostpathplugin,
    ),
    Step("our node with hostpathplugin on both", our_node_with_hostpathplugin),
)
