"""Settings that most processes have: how they reach the cluster, who leads, where their pages are.

Each is the type of a field, with its description and its flag; a process chooses the default.
"""

from datetime import timedelta
from typing import Annotated, Protocol

from msgspec import Meta

from plimsoll.runtime.flags import Flag

KubeconfigPath = Annotated[
    str,
    Meta(
        description="Empty: KUBECONFIG, ~/.kube/config, or the service account of the pod we run"
        " in."
    ),
    Flag("The cluster; by default as kubectl finds it.", metavar="FILE"),
]
KubeconfigContext = Annotated[
    str,
    Meta(description="Of the kubeconfig; empty: its current one."),
    Flag("The context of the kubeconfig.", metavar="NAME"),
]
LeaderElect = Annotated[
    bool,
    Meta(description="Of several copies only one acts."),
    Flag("Act only while holding a lease."),
]
LeaseNamespace = Annotated[str, Flag("Where the lease is.", metavar="NAME")]
LeaseIdentity = Annotated[
    str,
    Meta(
        description="Who this copy is to the others; empty: the machine's name and an id that is"
        " never the same. To be set only where something else ensures that no two copies with it"
        " ever run."
    ),
    Flag(
        "Who this copy is to the others; only where no two copies with it can run.",
        metavar="NAME",
        default="never the same",
    ),
]
LeaseDuration = Annotated[
    timedelta,
    Meta(description="How long a lease that is not renewed keeps other copies from acting."),
    Flag(),
]
RenewDeadline = Annotated[
    timedelta,
    Meta(description="How long a leader tries to renew its lease before it gives up."),
    Flag(),
]
RetryPeriod = Annotated[
    timedelta,
    Meta(description="How often a leader renews its lease, and the others look at it."),
    Flag(),
]


class LeaderOptions(Protocol):
    """How a copy of a process takes part in the election of its leader."""

    @property
    def leader_elect_identity(self) -> str: ...

    @property
    def leader_elect_lease_duration(self) -> timedelta: ...

    @property
    def leader_elect_renew_deadline(self) -> timedelta: ...

    @property
    def leader_elect_retry_period(self) -> timedelta: ...


MetricsPort = Annotated[
    int,
    Meta(
        description="On 127.0.0.1, for /metrics, /healthz, /livez and /readyz; 0 takes a free one."
    ),
    Flag(
        "Port on 127.0.0.1 for /metrics, /healthz and /readyz; 0 takes a free one.",
        at_least=0,
        at_most=65535,
    ),
]
