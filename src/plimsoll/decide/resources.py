"""The resources that several decisions write to, by the names of the API."""

from plimsoll.decide.plan import ResourceName

CLAIMS = ResourceName("", "v1", "persistentvolumeclaims")
VOLUMES = ResourceName("", "v1", "persistentvolumes")
PODS = ResourceName("", "v1", "pods")
CONFIG_MAPS = ResourceName("", "v1", "configmaps")
NODES = ResourceName("", "v1", "nodes")
ATTACHMENTS = ResourceName("storage.k8s.io", "v1", "volumeattachments")
