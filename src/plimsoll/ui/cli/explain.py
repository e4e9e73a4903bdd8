"""`plimsoll explain`: why a pod has no node or no volumes, or a claim no volume.

Reads, never writes.
"""

import sys
from pathlib import Path
from typing import Annotated, Any

import click
import uvloop

from plimsoll.decide.scheduling.policy import Policy, parse_namespaces
from plimsoll.processes.scheduler.configuration.published import profiles_in
from plimsoll.runtime.config import ConfigError, Sources, load_settings
from plimsoll.runtime.flags import Flag
from plimsoll.ui.documents import TABLE, written_document
from plimsoll.ui.explain.explainer import explain_reference
from plimsoll.ui.explain.reference import parse_reference
from plimsoll.ui.explain.rules import AskedRules
from plimsoll.ui.options.cluster_options import ClusterFlags, cluster_options
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kubeconfig_files import KubeconfigError


class ExplainFlags(ClusterFlags, frozen=True, kw_only=True):
    asked_namespace: Annotated[
        str,
        Flag(
            "Where it is; by default the namespace of the context.",
            spellings=("-n", "--namespace"),
            metavar="NAME",
        ),
    ] = ""
    policy: Annotated[
        Policy | None,
        Flag(
            "Whose rules; by default those that the scheduler which the pod names has published, or"
            " kube-scheduler's."
        ),
    ] = None
    config: Annotated[
        str,
        Flag(
            "The scheduler's file, our own or a KubeSchedulerConfiguration: pods are judged by the"
            " profile that they name in it. By default by the one that the scheduler has published,"
            " or by none.",
            metavar="FILE",
        ),
    ] = ""
    record_namespaces: Annotated[
        str,
        Flag(
            "Where records of groups and intents are believed; by commas. By default where the"
            " scheduler says that it believes them.",
            metavar="NAMES",
        ),
    ] = ""


@click.command()
@click.argument("what", metavar="KIND/[NAMESPACE/]NAME")
@cluster_options(ExplainFlags)
def explain(what: str, **given: Any) -> None:
    """Tell why a pod has no node or no volumes, or a claim no volume; nothing is changed.

    KIND is pod, claim (pvc), deploy, sts, job, ds or rs, or the long name; of a workload all pods
    are explained, those with the same answer together.

    For every node and claim: a code, what is wanted, what was seen, in which object and how old
    that is. Nodes that the same things speak against are shown together. What events, leases and
    attachments show to go wrong comes first.

    Exit codes: 0 all is well; 1 something is wrong, the object does not exist, or the cluster could
    not be reached; 2 bad usage.
    """
    flags = load_settings(ExplainFlags, Sources(flags=given))
    try:
        # What is wrong with the command is told first, also where no cluster is configured.
        reference = parse_reference(what, flags.asked_namespace)
        asked = AskedRules(
            policy=flags.policy,
            profiles=profiles_in(Path(flags.config)) if flags.config else {},
            record_namespaces=parse_namespaces(flags.record_namespaces),
        )
        reference = reference.in_namespace(flags.namespace)
        client = flags.client("plimsoll-explain")
        answer = uvloop.run(explain_reference(client, reference, asked))
    except (ConfigError, KubeconfigError, ValueError) as error:
        raise click.UsageError(str(error)) from error
    except KubeError as error:
        raise click.ClickException(_told(error, what, flags)) from error
    for remark in answer.margin.remarks:
        click.echo(f"remark: {remark}", err=True)
    form = flags.output_format
    click.echo(answer.text if form == TABLE else written_document(answer.document, form))
    sys.exit(0 if answer.explained.is_well else 1)


def _told(error: KubeError, what: str, flags: ExplainFlags) -> str:
    if error.failure is Failure.NOT_FOUND:
        return f"{what} was not found; look for it with kubectl get, or name its namespace with -n"
    if error.failure is Failure.FORBIDDEN:
        return f"{error}; explain needs to list nodes, pods, claims, volumes and storage kinds"
    return flags.told(error)
