"""The pods of a StatefulSet and their claims: names, identity and storage that stay theirs."""

from copy import deepcopy

from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Pod
from plimsoll.api.registry import Document
from plimsoll.api.workloads import StatefulSet
from plimsoll.decide.plan import Patch
from plimsoll.decide.resources import PODS
from plimsoll.decide.workloads.owned import STATEFUL_SET, controller_reference
from plimsoll.decide.workloads.pod_template import Template, pod_from_template
from plimsoll.decide.workloads.revisions import REVISION_LABEL, Revision

POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL = "apps.kubernetes.io/pod-index"
MAX_INT32 = 2**31 - 1
MAX_DIGITS = len(str(MAX_INT32))


def parent_and_ordinal(name: str) -> tuple[str, int]:
    """`web-3` is the pod 3 of web; a name without a number has the ordinal -1."""
    parent, dash, digits = name.rpartition("-")
    if not dash or not digits.isdecimal() or not digits.isascii():
        return "", -1
    ordinal = int(digits) if len(digits) <= MAX_DIGITS else MAX_INT32 + 1
    return parent, ordinal if ordinal <= MAX_INT32 else -1


def ordinal_of(pod: Pod) -> int:
    return parent_and_ordinal(pod.name)[1]


def is_member(set_: StatefulSet, pod: Pod) -> bool:
    """By its name: the set looks after no others, whatever their labels."""
    return parent_and_ordinal(pod.name)[0] == set_.name


def start_of(set_: StatefulSet) -> int:
    return set_.spec.ordinals.start if set_.spec.ordinals else 0


def replicas_of(set_: StatefulSet) -> int:
    return 1 if set_.spec.replicas is None else set_.spec.replicas


def ordinals_of(set_: StatefulSet) -> range:
    """Those that the set should have a pod for."""
    return range(start_of(set_), start_of(set_) + replicas_of(set_))


def pod_name(set_: StatefulSet, ordinal: int) -> str:
    return f"{set_.name}-{ordinal}"


def template_name(template: Template) -> str:
    name: str = (template.get("metadata") or {}).get("name") or ""
    return name


def claim_key(set_: StatefulSet, template: Template, ordinal: int) -> ObjectKey:
    return ObjectKey(set_.namespace, f"{template_name(template)}-{set_.name}-{ordinal}")


def claim_document(set_: StatefulSet, template: Template, ordinal: int) -> Document:
    claim = deepcopy(dict(template))
    key = claim_key(set_, template, ordinal)
    given = claim.get("metadata") or {}
    selected = set_.spec.selector.match_labels if set_.spec.selector else {}
    labels = dict(given.get("labels") or {}) | dict(selected)
    metadata = given | {"name": key.name, "namespace": key.namespace, "labels": labels}
    claim.pop("status", None)
    return claim | {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}


def pod_document(set_: StatefulSet, revision: Revision, ordinal: int) -> Document:
    owner = controller_reference(STATEFUL_SET, set_)
    pod = pod_from_template(revision.template, set_.namespace, owner)
    name = pod_name(set_, ordinal)
    pod["metadata"] |= {"name": name, "generateName": f"{set_.name}-"}
    pod["metadata"]["labels"] |= _identity(name, ordinal) | {REVISION_LABEL: revision.name}
    pod["spec"] |= {"hostname": name, "subdomain": set_.spec.service_name}
    if not set_.spec.service_name:
        del pod["spec"]["subdomain"]
    pod["spec"]["volumes"] = _volumes(set_, pod["spec"].get("volumes") or [], ordinal)
    return pod


def _identity(name: str, ordinal: int) -> dict[str, str]:
    return {POD_NAME_LABEL: name, POD_INDEX_LABEL: str(ordinal)}


def _volumes(set_: StatefulSet, given: list[Document], ordinal: int) -> list[Document]:
    """A claim's volume takes the place of one that the template has under the same name."""
    claims = {
        template_name(template): claim_key(set_, template, ordinal).name
        for template in set_.spec.volume_claim_templates
    }
    own = [volume for volume in given if volume.get("name") not in claims]
    return [
        {"name": name, "persistentVolumeClaim": {"claimName": claim}}
        for name, claim in claims.items()
    ] + own


def identity_patch(pod: Pod) -> Patch | None:
    """None when the pod is labelled with its own name."""
    if pod.labels.get(POD_NAME_LABEL) == pod.name:
        return None
    labels = _identity(pod.name, ordinal_of(pod))
    return Patch(
        resource=PODS,
        key=pod.key,
        patch={"metadata": {"labels": labels}},
        version=pod.metadata.resource_version,
        uid=pod.uid,
    )


def has_its_storage(set_: StatefulSet, pod: Pod) -> bool:
    """Whether its volumes are those that the set's claim templates say."""
    ordinal = ordinal_of(pod)
    for template in set_.spec.volume_claim_templates:
        claim = claim_key(set_, template, ordinal).name
        if claim != _claim_behind(pod, template_name(template)):
            return False
    return True


def _claim_behind(pod: Pod, name: str) -> str:
    """What the pod's volume of this name is a claim for; empty: for none."""
    for volume in pod.spec.volumes:
        if volume.name == name and volume.persistent_volume_claim is not None:
            return volume.persistent_volume_claim.claim_name
    return ""
