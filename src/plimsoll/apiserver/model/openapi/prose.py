"""One sentence per kind and field, as `kubectl explain` shows them.

Keys are `Kind`, `Kind.field`, and `*.field` for fields that mean the same everywhere. What has no
sentence here is shown without one.
"""

DESCRIPTIONS = {
    "*.apiVersion": "The group and version of the API that this object is written in.",
    "*.kind": "What the object is.",
    "*.metadata": "Name, labels, owners and everything else that all objects have.",
    "*.spec": "What is wanted.",
    "*.status": "What was found; written by controllers, not by people.",
    "*.items": "The objects of the list.",
    "ObjectMeta": "What every object has, whatever its kind.",
    "ObjectMeta.annotations": "Facts that tools attach to the object; not used to select it.",
    "ObjectMeta.creationTimestamp": "When the server made the object.",
    "ObjectMeta.deletionTimestamp": "When deletion was asked for; the object goes once no "
    "finalizer is left.",
    "ObjectMeta.finalizers": "Who must agree before the object goes away.",
    "ObjectMeta.generateName": "A prefix for a name that the server makes unique.",
    "ObjectMeta.generation": "Counts the changes of what is wanted.",
    "ObjectMeta.labels": "Facts that selectors can ask for.",
    "ObjectMeta.managedFields": "Who wrote which field.",
    "ObjectMeta.name": "Unique within the namespace and kind; cannot change.",
    "ObjectMeta.namespace": "The namespace that the object lives in; cannot change.",
    "ObjectMeta.ownerReferences": "Objects on which this one depends and with which it goes.",
    "ObjectMeta.resourceVersion": "Changes with every write; opaque, compare only for equality.",
    "ObjectMeta.uid": "Tells apart objects that had the same name at different times.",
    "PersistentVolume": "A piece of storage in the cluster, made by hand or by a provisioner.",
    "PersistentVolumeSpec.accessModes": "All the ways in which the volume can be mounted.",
    "PersistentVolumeSpec.capacity": "The size of the volume, under the key storage.",
    "PersistentVolumeSpec.claimRef": "The claim that the volume is bound to or kept for.",
    "PersistentVolumeSpec.csi": "The driver that serves the volume and its handle there.",
    "PersistentVolumeSpec.nodeAffinity": "The nodes from which the volume can be reached.",
    "PersistentVolumeSpec.persistentVolumeReclaimPolicy": "What happens to the volume when its "
    "claim is gone: Retain keeps it, Delete removes it with its data.",
    "PersistentVolumeSpec.storageClassName": "The class of the volume; claims of other classes "
    "do not get it.",
    "PersistentVolumeSpec.volumeAttributesClassName": "The class of the attributes that the "
    "volume has now.",
    "PersistentVolumeSpec.volumeMode": "Filesystem or Block.",
    "PersistentVolumeStatus.phase": "Available, Bound, Released or Failed.",
    "PersistentVolumeClaim": "A user's request for storage.",
    "PersistentVolumeClaimSpec.accessModes": "The ways in which the volume must be mountable.",
    "PersistentVolumeClaimSpec.dataSource": "What the new volume starts with: a snapshot or "
    "another claim.",
    "PersistentVolumeClaimSpec.dataSourceRef": "What the new volume starts with, of any kind "
    "that a populator knows.",
    "PersistentVolumeClaimSpec.resources": "The least size that will do.",
    "PersistentVolumeClaimSpec.selector": "Labels that the volume must have.",
    "PersistentVolumeClaimSpec.storageClassName": "The wanted class; empty for volumes without "
    "one, absent for the default class.",
    "PersistentVolumeClaimSpec.volumeAttributesClassName": "The wanted class of attributes; may "
    "change while the volume is in use.",
    "PersistentVolumeClaimSpec.volumeMode": "Filesystem or Block.",
    "PersistentVolumeClaimSpec.volumeName": "The volume that the claim is bound to.",
    "PersistentVolumeClaimStatus.capacity": "The size of the bound volume.",
    "PersistentVolumeClaimStatus.phase": "Pending, Bound or Lost.",
    "StorageClass": "A kind of storage on offer, and how its volumes are made.",
    "StorageClass.allowVolumeExpansion": "Whether claims of the class may grow.",
    "StorageClass.allowedTopologies": "Where volumes of the class may be made.",
    "StorageClass.mountOptions": "Options with which its volumes are mounted.",
    "StorageClass.parameters": "What the provisioner is told when it makes a volume.",
    "StorageClass.provisioner": "The driver that makes volumes of the class.",
    "StorageClass.reclaimPolicy": "The reclaim policy of its volumes; Delete unless said "
    "otherwise.",
    "StorageClass.volumeBindingMode": "Immediate makes a volume as soon as it is claimed; "
    "WaitForFirstConsumer waits until a pod that uses it is scheduled.",
    "CSIDriver": "What the cluster knows about a storage driver.",
    "CSIDriverSpec.attachRequired": "Whether volumes must be attached to a node before they are "
    "mounted.",
    "CSIDriverSpec.fsGroupPolicy": "Whether ownership of files follows the pod's group.",
    "CSIDriverSpec.podInfoOnMount": "Whether the driver wants to know for which pod it mounts.",
    "CSIDriverSpec.storageCapacity": "Whether the driver reports capacity that pods should wait "
    "for.",
    "CSIDriverSpec.volumeLifecycleModes": "Persistent, Ephemeral or both.",
    "CSINode": "Which storage drivers run on a node.",
    "CSINodeDriver.allocatable": "How many volumes of the driver the node can have.",
    "CSINodeDriver.name": "The name of the driver.",
    "CSINodeDriver.nodeID": "What the driver calls the node.",
    "CSINodeDriver.topologyKeys": "Labels of the node that tell where the driver's volumes can "
    "be reached.",
    "CSIStorageCapacity": "How much capacity a driver has for a class in one part of the cluster.",
    "CSIStorageCapacity.capacity": "The capacity that was left when the driver was last asked.",
    "CSIStorageCapacity.maximumVolumeSize": "The largest single volume that can be made.",
    "CSIStorageCapacity.nodeTopology": "The nodes that can reach this storage.",
    "CSIStorageCapacity.storageClassName": "The class that the figures are for.",
    "VolumeAttachment": "Asks for a volume to be attached to a node, and tells whether it is.",
    "VolumeAttachmentSpec.attacher": "The driver that attaches.",
    "VolumeAttachmentSpec.nodeName": "The node to attach to.",
    "VolumeAttachmentSpec.source": "The volume to attach.",
    "VolumeAttachmentStatus.attached": "Whether the volume is attached.",
    "VolumeAttributesClass": "Attributes of volumes that can change while they are in use.",
    "VolumeAttributesClass.driverName": "The driver that understands the parameters.",
    "VolumeAttributesClass.parameters": "The attributes, in the words of the driver.",
    "Pod": "A group of containers that run together on one node.",
    "PodSpec.containers": "The containers of the pod.",
    "PodSpec.nodeName": "The node on which the pod runs.",
    "PodSpec.schedulerName": "Who chooses the node.",
    "PodSpec.tolerations": "Taints of nodes that the pod does not mind.",
    "PodSpec.volumes": "Storage that the pod's containers can mount.",
    "StatefulSet": "Numbered pods that keep their names and their storage.",
    "StatefulSetSpec.replicas": "How many pods there should be.",
    "StatefulSetSpec.volumeClaimTemplates": "Claims made for each pod.",
    "Node": "A machine of the cluster.",
    "Namespace": "A place for names.",
}
