"""`plimsoll explain`: why a pod has no node or no volumes, or a claim no volume.

Reads, never writes.
"""

import sys

import click
import uvloop

from plimsoll.decide.scheduling.policy import Policy
from plimsoll.ui.documents import TABLE, output_option, written_document
from plimsoll.ui.explain.explainer import explain_reference
from plimsoll.ui.explain.reference import parse_reference
from plimsoll.ui.options.cluster_options import ClusterFlags, cluster_options
from plimsoll.wire.errors import Failure, KubeError
from plimsoll.wire.kubeconfig_files import KubeconfigError


@click.command()
@click.argument("what", metavar="KIND/[NAMESPACE/]NAME")
@click.option(
    "-n",
    "--namespace",
    default="",
    metavar="NAME",
    help="Where it is; by default the namespace of the context.",
)
@cluster_options
@click.option(
    "--policy",
    type=click.Choice([policy.value for policy in Policy]),
    help="Whose rules; by default those that the scheduler which the pod names has published, or"
    " kube-scheduler's.",
)
@output_option
def explain(what: str, *, policy: str | None, output_format: str, **where: str) -> None:
    """Tell why a pod has no node or no volumes, or a claim no volume; nothing is changed.

    KIND is pod, claim (pvc), deploy, sts, job, ds or rs, or the long name; of a workload all pods
    are explained, those with the same answer together.

    For every node and claim: a code, what is wanted, what was seen, in which object and how old
    that is. Nodes that the same things speak against are shown together. What events, leases and
    attachments show to go wrong comes first.

    Exit codes: 0 all is well; 1 something is wrong, the object does not exist, or the cluster could
    not be reached; 2 bad usage.
    """
    cluster = ClusterFlags(kubeconfig=where["kubeconfig"], context=where["context"])
    asked = Policy(policy) if policy else None
    try:
        reference = parse_reference(what, where["namespace"], cluster.namespace)
        client = cluster.client("plimsoll-explain")
        answer = uvloop.run(explain_reference(client, reference, asked))
    except (KubeconfigError, ValueError) as error:
        raise click.UsageError(str(error)) from error
    except KubeError as error:
        raise click.ClickException(_told(error, what)) from error
    for remark in answer.margin.remarks:
        click.echo(f"remark: {remark}", err=True)
    is_table = output_format == TABLE
    click.echo(answer.text if is_table else written_document(answer.document, output_format))
    sys.exit(0 if answer.explained.is_well else 1)


def _told(error: KubeError, what: str) -> str:
    if error.failure is Failure.NOT_FOUND:
        return f"{what} was not found; look for it with kubectl get, or name its namespace with -n"
    if error.failure is Failure.FORBIDDEN:
        return f"{error}; explain needs to list nodes, pods, claims, volumes and storage kinds"
    return str(error)
