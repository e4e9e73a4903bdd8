"""The steps about CSI: originals and our programs in each other's places, beside any driver."""

import functools
import os
from dataclasses import replace

from conformance import (
    csi_backends,
    csi_capacity,
    csi_endurance,
    csi_groups,
    csi_node,
    csi_refusals,
    csi_swap,
)
from conformance.csi_checks import HOSTPATH, OUR_LOCAL, OUR_POOLS, Cast, Kit, play
from conformance.csi_sidecars import (
    Sidecar,
    csi_provisioner,
    csi_resizer,
    csi_snapshotter,
    our_csi_loops,
    our_provisioner,
)
from conformance.csi_stories import (
    ATTACHMENT_STORIES,
    GROWTH_STORIES,
    SNAPSHOT_STORIES,
    VOLUME_STORIES,
    Story,
)
from conformance.programs import (
    ATTACHING,
    OUR_LOOPS,
    THEIR_CONTROLLERS,
    kube_controller_manager,
    our_controller,
)
from conformance.step import Servers, Step, StepSkippedError, tell

ORIGINALS = (csi_provisioner, csi_resizer, csi_snapshotter)
WITH_OUR_PROVISIONER = (our_provisioner, csi_resizer, csi_snapshotter)
OURS = (our_provisioner, our_csi_loops)
STORIES = VOLUME_STORIES + GROWTH_STORIES + SNAPSHOT_STORIES
KILLS, SEED = 100, 7
"""Two minutes; `python -m conformance.csi_endurance` goes on for as long as is wanted."""


def real_sidecars_with_our_driver(servers: Servers) -> None:
    """On the real server beside the real kube-controller-manager, on ours beside our controller."""
    _on_both(servers, OUR_LOCAL, ORIGINALS)
    _tell("embedded, pools", _on_ours(servers, OUR_POOLS, ORIGINALS))


def real_sidecars_with_hostpathplugin(servers: Servers) -> None:
    """Only the API server and the controller are ours."""
    _tell("embedded", _on_ours(servers, HOSTPATH, ORIGINALS))


def our_provisioner_with_our_driver(servers: Servers) -> None:
    """Beside the real csi-resizer and csi-snapshotter."""
    _on_both(servers, OUR_LOCAL, WITH_OUR_PROVISIONER)


def our_provisioner_with_hostpathplugin(servers: Servers) -> None:
    """Only the provisioner is ours, and the API server on one of them."""
    _on_both(servers, HOSTPATH, WITH_OUR_PROVISIONER)


def capacity_with_hostpathplugin(servers: Servers) -> None:
    tell("per cluster", functools.partial(csi_capacity.per_cluster, servers.real.kubeconfig))
    tell("per node", functools.partial(csi_capacity.per_node, servers.real.kubeconfig))


def provisioners_in_turn(servers: Servers) -> None:
    for name, first, second in (
        ("ours after theirs", csi_provisioner, our_provisioner),
        ("theirs after ours", our_provisioner, csi_provisioner),
    ):
        swap = csi_swap.Swap(
            kubeconfig=servers.real.kubeconfig,
            controller=kube_controller_manager,
            first=first,
            second=second,
        )
        tell(name, functools.partial(csi_swap.play, swap))


def our_scheduler_after_a_refusal(servers: Servers) -> None:
    """The provisioner is the original; on the real server the controller is, too."""
    real, embedded = servers.real.kubeconfig, servers.embedded.kubeconfig
    tell("real", functools.partial(csi_refusals.play, real, kube_controller_manager))
    tell("embedded", functools.partial(csi_refusals.play, embedded, our_controller))


def two_claims_of_two_drivers(servers: Servers) -> None:
    """Theirs on the real server; ours there, beside the real kube-controller-manager, and on the
    embedded one."""
    real, embedded = servers.real.kubeconfig, servers.embedded.kubeconfig
    casts = {
        "real, theirs": csi_groups.Parts(
            kubeconfig=real, controller=kube_controller_manager, are_ours=False
        ),
        "real, ours": csi_groups.Parts(
            kubeconfig=real, controller=kube_controller_manager, are_ours=True
        ),
        "embedded, ours": csi_groups.Parts(
            kubeconfig=embedded, controller=our_controller, are_ours=True
        ),
    }
    for name, parts in casts.items():
        tell(name, functools.partial(csi_groups.play, parts))


def our_sidecars_with_our_driver(servers: Servers) -> None:
    """Our loop carries out attachments; on the real server, another program asks for them."""
    controllers, loops = (*THEIR_CONTROLLERS, ATTACHING), (*OUR_LOOPS, "attach-detach")
    theirs = functools.partial(kube_controller_manager, controllers=controllers)
    ours = functools.partial(our_controller, loops=loops)
    stories = STORIES + ATTACHMENT_STORIES
    _tell("real", replace(_on_real(servers, OUR_POOLS, OURS), controller=theirs), stories)
    _tell("embedded", replace(_on_ours(servers, OUR_POOLS, OURS), controller=ours), stories)


def our_node_with_hostpathplugin(servers: Servers) -> None:
    """The real driver, registrar and provisioner, on both servers."""
    on_real = functools.partial(csi_node.play, servers.real.kubeconfig, kube_controller_manager)
    on_embedded = functools.partial(csi_node.play, servers.embedded.kubeconfig, our_controller)
    tell("real", on_real)
    tell("embedded", on_embedded)


def _on_both(servers: Servers, kit: Kit, sidecars: tuple[Sidecar, ...]) -> None:
    _tell("real", _on_real(servers, kit, sidecars))
    _tell("embedded", _on_ours(servers, kit, sidecars))


def _on_real(servers: Servers, kit: Kit, sidecars: tuple[Sidecar, ...]) -> Cast:
    return Cast(
        kubeconfig=servers.real.kubeconfig,
        kit=kit,
        controller=kube_controller_manager,
        sidecars=sidecars,
    )


def _on_ours(servers: Servers, kit: Kit, sidecars: tuple[Sidecar, ...]) -> Cast:
    return Cast(
        kubeconfig=servers.embedded.kubeconfig,
        kit=kit,
        controller=our_controller,
        sidecars=sidecars,
    )


def _tell(name: str, cast: Cast, stories: tuple[Story, ...] = STORIES) -> None:
    tell(name, functools.partial(play, cast, stories))


def sanity(_servers: Servers) -> None:
    tell("csi-sanity", csi_backends.one_client)


def sanity_of_many(_servers: Servers) -> None:
    tell("csi-sanity", csi_backends.many_clients)


def endurance(_servers: Servers) -> None:
    if os.geteuid() != 0:
        raise StepSkippedError("mounts and loop devices need root")
    tell("driver", functools.partial(csi_endurance.run, KILLS, SEED))


CSI_STEPS = (
    Step("csi-sanity on every backend of our driver", sanity),
    Step("csi-sanity, eight at once, on every kind of backend of our driver", sanity_of_many),
    Step("our driver is killed again and again", endurance),
    Step("the real sidecars with our driver on both", real_sidecars_with_our_driver),
    Step(
        "the real sidecars with hostpathplugin on the embedded server",
        real_sidecars_with_hostpathplugin,
    ),
    Step("our provisioner with our driver on both", our_provisioner_with_our_driver),
    Step("our provisioner with hostpathplugin on both", our_provisioner_with_hostpathplugin),
    Step("our provisioner, hostpathplugin and both schedulers", capacity_with_hostpathplugin),
    Step("our provisioner and csi-provisioner in turn", provisioners_in_turn),
    Step("our scheduler after csi-provisioner refused a node", our_scheduler_after_a_refusal),
    Step("two claims of two drivers, with theirs and with ours", two_claims_of_two_drivers),
    Step("our provisioner and CSI loops with our driver on both", our_sidecars_with_our_driver),
    Step("our node with hostpathplugin on both", our_node_with_hostpathplugin),
)
