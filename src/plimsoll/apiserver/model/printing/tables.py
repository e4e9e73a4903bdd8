"""Objects as rows of a Table, and as metadata only.

Which columns a kind has is data (`definitions().columns`); what stands in them is a function
per kind. A kind without one gets its name, its age and blanks of the right type.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Literal

from plimsoll.api.registry import Document, Resource
from plimsoll.apiserver.model.custom import columns as custom
from plimsoll.apiserver.model.custom.served_kind import CustomResource
from plimsoll.apiserver.model.definitions import PrinterColumn, definitions
from plimsoll.apiserver.model.printing import (
    access,
    admission,
    autoscaling,
    cluster,
    devices,
    events,
    networking,
    pods,
    requests,
    storage,
    workloads,
)
from plimsoll.apiserver.model.printing.ages import since

IncludeObject = Literal["Metadata", "None", "Object"]
Version = Literal["v1", "v1beta1"]
Printer = Callable[[Document, datetime], list[Any]]

ADMISSION = "admissionregistration.k8s.io"
FLOW_CONTROL = "flowcontrol.apiserver.k8s.io"

_PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "configmaps"): cluster.config_map_cells,
    ("", "endpoints"): networking.endpoints_cells,
    ("", "events"): events.event_cells,
    ("", "namespaces"): cluster.namespace_cells,
    ("", "nodes"): cluster.node_cells,
    ("", "persistentvolumeclaims"): storage.claim_cells,
    ("", "persistentvolumes"): storage.volume_cells,
    ("", "pods"): pods.pod_cells,
    ("", "podtemplates"): workloads.pod_template_cells,
    ("", "replicationcontrollers"): workloads.replication_controller_cells,
    ("", "resourcequotas"): cluster.quota_cells,
    ("", "secrets"): cluster.secret_cells,
    ("", "services"): networking.service_cells,
    (ADMISSION, "mutatingwebhookconfigurations"): admission.webhooks_cells,
    (ADMISSION, "validatingadmissionpolicies"): admission.policy_cells,
    (ADMISSION, "validatingadmissionpolicybindings"): admission.policy_binding_cells,
    (ADMISSION, "validatingwebhookconfigurations"): admission.webhooks_cells,
    ("apiregistration.k8s.io", "apiservices"): requests.api_service_cells,
    ("apiextensions.k8s.io", "customresourcedefinitions"): cluster.custom_resource_definition_cells,
    ("apps", "controllerrevisions"): workloads.controller_revision_cells,
    ("apps", "daemonsets"): workloads.daemon_set_cells,
    ("apps", "deployments"): workloads.deployment_cells,
    ("apps", "replicasets"): workloads.replica_set_cells,
    ("apps", "statefulsets"): workloads.stateful_set_cells,
    ("autoscaling", "horizontalpodautoscalers"): autoscaling.autoscaler_cells,
    ("batch", "cronjobs"): workloads.cron_job_cells,
    ("batch", "jobs"): workloads.job_cells,
    (
        "certificates.k8s.io",
        "certificatesigningrequests",
    ): access.certificate_signing_request_cells,
    ("coordination.k8s.io", "leases"): cluster.lease_cells,
    ("discovery.k8s.io", "endpointslices"): networking.endpoint_slice_cells,
    ("events.k8s.io", "events"): events.new_event_cells,
    (FLOW_CONTROL, "flowschemas"): requests.flow_schema_cells,
    (FLOW_CONTROL, "prioritylevelconfigurations"): requests.priority_level_cells,
    ("networking.k8s.io", "ingressclasses"): networking.ingress_class_cells,
    ("networking.k8s.io", "ingresses"): networking.ingress_cells,
    ("networking.k8s.io", "ipaddresses"): networking.address_cells,
    ("networking.k8s.io", "networkpolicies"): networking.network_policy_cells,
    ("networking.k8s.io", "servicecidrs"): networking.service_range_cells,
    ("node.k8s.io", "runtimeclasses"): cluster.runtime_class_cells,
    ("policy", "poddisruptionbudgets"): workloads.disruption_budget_cells,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): access.role_binding_cells,
    ("rbac.authorization.k8s.io", "rolebindings"): access.role_binding_cells,
    ("resource.k8s.io", "resourceclaims"): devices.resource_claim_cells,
    ("resource.k8s.io", "resourceslices"): devices.resource_slice_cells,
    ("scheduling.k8s.io", "priorityclasses"): cluster.priority_class_cells,
    ("storage.k8s.io", "csidrivers"): storage.csi_driver_cells,
    ("storage.k8s.io", "csinodes"): storage.csi_node_cells,
    ("storage.k8s.io", "storageclasses"): storage.storage_class_cells,
    ("storage.k8s.io", "volumeattachments"): storage.attachment_cells,
    ("storage.k8s.io", "volumeattributesclasses"): storage.attributes_class_cells,
}

# What a custom resource shows that asks for no columns of its own.
_NAME_AND_AGE = (
    PrinterColumn(name="Name", type="string", format="name", priority=0),
    PrinterColumn(name="Age", type="date", format="", priority=0),
)

_DESCRIPTIONS = {
    "Name": "The name of the object.",
    "Age": "The time since the object was created.",
    "Created At": "When the object was created.",
}

_BLANKS: dict[str, Any] = {"integer": 0, "number": 0, "boolean": False}


def table(
    resource: Resource,
    documents: Sequence[Document],
    now: datetime,
    include_object: IncludeObject = "Metadata",
    *,
    version: Version = "v1",
) -> Document:
    """A Table without list metadata, which is the caller's to add."""
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": {},
        "columnDefinitions": _definitions(resource),
        "rows": [
            _row(resource, document, now)
            | {"object": _row_object(document, include_object, version)}
            for document in documents
        ],
    }


def without_columns(full: Document) -> Document:
    """The Table of a watch event after the first: the columns are known by then."""
    return full | {"columnDefinitions": None}


def partial_metadata(document: Document, version: Version = "v1") -> Document:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": document.get("metadata", {}),
    }


def partial_metadata_list(documents: Sequence[Document], version: Version = "v1") -> Document:
    """A list without list metadata; clients expect null, not an empty list, for no items."""
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": {},
        "items": [partial_metadata(document, version) for document in documents] or None,
    }


def _columns(resource: Resource) -> tuple[PrinterColumn, ...]:
    key = f"{resource.plural}.{resource.version}.{resource.group}".removesuffix(".")
    return definitions().columns.get(key, _NAME_AND_AGE)


def _definitions(resource: Resource) -> list[Document]:
    if isinstance(resource, CustomResource):
        return custom.column_definitions(resource.served.columns)
    return [_definition(column) for column in _columns(resource)]


def _definition(column: PrinterColumn) -> Document:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": _DESCRIPTIONS.get(column.name, ""),
        "priority": column.priority,
    }


def _row(resource: Resource, document: Document, now: datetime) -> Document:
    if isinstance(resource, CustomResource):
        return {"cells": custom.cells(resource.served.columns, document, now)}
    printer = _PRINTERS.get((resource.group, resource.plural))
    cells = printer(document, now) if printer else _plain_cells(resource, document, now)
    row: Document = {"cells": cells}
    if (resource.group, resource.plural) == ("", "pods"):
        conditions = pods.pod_row_conditions(document)
        if conditions:
            row["conditions"] = conditions
    return row


def _row_object(document: Document, include: IncludeObject, version: Version) -> Document | None:
    match include:
        case "Object":
            return document
        case "Metadata":
            return partial_metadata(document, version)
        case "None":
            return None


def _plain_cells(resource: Resource, document: Document, now: datetime) -> list[Any]:
    return [_plain_cell(column, document, now) for column in _columns(resource)]


def _plain_cell(column: PrinterColumn, document: Document, now: datetime) -> Any:
    meta = document.get("metadata", {})
    match column.name:
        case "Name":
            return meta.get("name", "")
        case "Age":
            return since(meta.get("creationTimestamp"), now)
        case "Created At":
            return meta.get("creationTimestamp", "")
        case _:
            return _BLANKS.get(column.type, "")
