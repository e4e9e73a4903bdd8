"""The options of commands that look at a cluster, and the client that they lead to."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated

from plimsoll.runtime.clock import SystemClock
from plimsoll.runtime.config import Settings, environment
from plimsoll.runtime.flags import Flag
from plimsoll.runtime.ids import system_chance
from plimsoll.ui.documents import JSON, TABLE, YAML
from plimsoll.ui.options.settings_options import Command, OptionDefaults, settings_options
from plimsoll.wire.connect import connect
from plimsoll.wire.errors import KubeError
from plimsoll.wire.kube import KubeClient
from plimsoll.wire.kubeconfig import ConnectionOptions, KubeconfigEnvironment, find_access
from plimsoll.wire.kubeconfig_files import KubeconfigError

REMEDY = "renew them, or choose others with --kubeconfig or --context"


class ClusterFlags(Settings, frozen=True, kw_only=True):
    kubeconfig: Annotated[str, Flag("Which cluster; default: as kubectl.", metavar="FILE")] = ""
    context: Annotated[str, Flag("Of the kubeconfig.", metavar="NAME")] = ""
    output_format: Annotated[str, Flag(spellings=("-o",), choices=(TABLE, JSON, YAML))] = TABLE

    def client(self, component: str) -> KubeClient:
        """Nothing is sent yet. Raises KubeconfigError."""
        return connect(self._options, _found(), system_chance(), manager=component)

    @property
    def namespace(self) -> str:
        """Of the context. Raises KubeconfigError."""
        return find_access(self._options, _found()).namespace

    def told(self, error: KubeError) -> str:
        """Of credentials that the server refused, also where they are from and what to do; they
        themselves are never shown."""
        if error.code != HTTPStatus.UNAUTHORIZED:
            return str(error)
        try:
            access = find_access(self._options, _found())
        except KubeconfigError:  # it can have been a pipe, which is read only once
            return f"{error}; {REMEDY}"
        return f"{error}; {access.server} refuses the credentials of {access.source}; {REMEDY}"

    @property
    def _options(self) -> ConnectionOptions:
        return ConnectionOptions(kubeconfig=self.kubeconfig, context=self.context)


def _found() -> KubeconfigEnvironment:
    return KubeconfigEnvironment(environment=environment(), clock=SystemClock())


def cluster_options(form: type[ClusterFlags]) -> Callable[[Command], Command]:
    """Neither a file nor the environment sets any of them."""
    return settings_options(form, defaults=OptionDefaults.FINAL)
