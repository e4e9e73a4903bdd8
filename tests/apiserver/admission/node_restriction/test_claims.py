"""A kubelet reports the size of a claim's volume, and changes nothing else of the claim."""

from tests.apiserver.admission.node_restriction.kubelets import HERE, a_pod, restricted

CLAIM = f"{HERE}/persistentvolumeclaims/mine"


async def test_only_what_a_resize_changes_is_written() -> None:
    async with restricted() as cluster:
        size = {"storage": "1Gi"}
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": size}}
        claim = {"metadata": {"name": "mine"}, "spec": spec}
        await cluster.made(f"{HERE}/persistentvolumeclaims", claim)
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "mine"}}]
        await cluster.made(f"{HERE}/pods", a_pod("user", "node-a", volumes=volumes))
        condition = {"type": "FileSystemResizePending", "status": "False"}
        grown = {"status": {"capacity": {"storage": "2Gi"}, "conditions": [condition]}}
        written = await cluster.done("PATCH", f"{CLAIM}/status", grown)
        assert written["status"]["capacity"] == {"storage": "2Gi"}
        only = (
            'node "node-a" is not allowed to update fields other than status.quantity and '
            "status.conditions: "
        )
        phase = {"status": {"phase": "Lost"}}
        assert await cluster.refusal("PATCH", f"{CLAIM}/status", phase) == f"{only}status"
        labelled = {"metadata": {"labels": {"a": "b"}}}
        assert await cluster.refusal("PATCH", f"{CLAIM}/status", labelled) == f"{only}metadata"
