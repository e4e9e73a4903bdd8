from plimsoll.processes.controller.storage.binding import Binding
from plimsoll.reconcile.running import LoopEnvironment, RunningLoops
from plimsoll.runtime.metrics import Metrics
from plimsoll.simulator.stories.objects import claim, volume
from plimsoll.simulator.stories.provisioners import a_class
from tests.processes.controller.flaky import a_flaky_cluster


async def test_claims_volumes_and_queues_are_counted() -> None:
    async with a_flaky_cluster({"binding": Binding}) as (cluster, _, loops):
        await cluster.create(volume(), volume("free"), claim())
        await cluster.settle()
        assert loops.is_synced
        text = loops.metrics.exposition().decode()
        for line in (
            'pv_collector_bound_pv_count{storage_class="fast"} 1.0',
            'pv_collector_unbound_pv_count{storage_class="fast"} 1.0',
            'pvc_count{namespace="default",storage_class="fast",volume_attributes_class=""} 1.0',
            '{plugin_name="kubernetes.io/csi:disk.example.com",volume_mode="Filesystem"} 2.0',
            'workqueue_depth{name="binding"} 0.0',
        ):
            assert line in text


async def test_claims_that_get_the_default_class_later_are_counted() -> None:
    annotation = "storageclass.kubernetes.io/is-default-class"
    usual = a_class("disk.example.com", "usual")
    usual["metadata"]["annotations"] = {annotation: "true"}
    without = claim()
    del without["spec"]["storageClassName"]
    async with a_flaky_cluster({"binding": Binding}) as (cluster, _, loops):
        await cluster.create(without)
        await cluster.settle()
        await cluster.create(usual)
        await cluster.settle()
        assert b"retroactive_storageclass_total 1.0" in loops.metrics.exposition()


async def test_metrics_can_be_read_before_anything_was_observed() -> None:
    async with a_flaky_cluster({}) as (cluster, _, _):
        metrics = Metrics()
        RunningLoops(
            {"binding": Binding},
            LoopEnvironment(client=cluster.client, component="test", metrics=metrics),
        )
        assert b"workqueue_depth" in metrics.exposition()
