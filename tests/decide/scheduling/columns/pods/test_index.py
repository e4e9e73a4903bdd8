from plimsoll.api.meta import ObjectKey
from plimsoll.api.pods import Container, Pod, PodSpec, PodStatus, PodVolume
from plimsoll.api.volumes import GcePersistentDisk, Iscsi, Rbd
from plimsoll.decide.scheduling.columns.pods.index import PlacedDemands, PodIndex, exclusive_disks
from tests.builders import a_pod, meta


def test_a_node_carries_what_its_pods_ask_for() -> None:
    pods = PodIndex()
    pods.add(a_pod("p", node="n", requests={"cpu": "1", "memory": "1Gi"}))
    pods.add(a_pod("q", node="n", requests={"cpu": "500m"}))

    load = pods.load_of("n")
    assert (load.get("pods"), load.get("cpu"), load.get("memory")) == (2, 1500, 2**30)
    pods.remove(ObjectKey("default", "p"))
    assert pods.load_of("n").get("cpu") == 500
    pods.remove(ObjectKey("default", "q"))
    assert pods.load_of("n").amounts == {}
    assert pods.remove(ObjectKey("default", "q")) is None


def test_what_pods_take_is_read_once_for_all_that_ask_the_same() -> None:
    demands = PlacedDemands()
    read = demands.of(a_pod("p", node="n", requests={"cpu": "1"}))

    assert demands.of(a_pod("q", node="m", requests={"cpu": "1"})) is read
    assert demands.of(a_pod("r", requests={"cpu": "2"})).amounts["cpu"] == 2000


def test_pods_are_found_by_node_in_the_order_of_their_names() -> None:
    pods = PodIndex()
    for name in ("b", "a", "c"):
        pods.add(a_pod(name, node="n"))

    assert [pod.name for pod in pods.on("n")] == ["a", "b", "c"]
    assert pods.on("other") == []


def test_pods_are_found_by_claim_until_the_last_one_goes() -> None:
    pods, claim = PodIndex(), ObjectKey("default", "data")
    pods.add(a_pod("p", node="n", claims=["data", "data"]))
    assert pods.is_named(claim)
    assert pods.using(claim) == {ObjectKey("default", "p")}
    pods.remove(ObjectKey("default", "p"))
    assert not pods.is_named(claim)
    assert pods.using(claim) == set()


def test_a_pod_that_takes_the_same_is_only_replaced() -> None:
    pods = PodIndex()
    pod = a_pod("p", node="n", requests={"cpu": "1"})
    assert not pods.replace(pod)
    pods.add(pod)
    running = Pod(metadata=pod.metadata, spec=pod.spec, status=PodStatus(phase="Running"))

    assert pods.replace(running)
    assert pods.get(pod.key) is running
    assert not pods.replace(a_pod("p", node="n", requests={"cpu": "2"}))
    finished = Pod(metadata=pod.metadata, spec=pod.spec, status=PodStatus(phase="Failed"))
    assert not pods.replace(finished)


def test_disks_that_only_one_pod_may_mount_lead_to_their_nodes() -> None:
    volumes = (
        PodVolume(name="a", gce_persistent_disk=GcePersistentDisk(pd_name="d")),
        PodVolume(name="b", iscsi=Iscsi(iqn="iqn")),
        PodVolume(name="c", rbd=Rbd(pool="p", image="i")),
    )
    spec = PodSpec(node_name="n", volumes=volumes, containers=(Container(name="main"),))
    pod = Pod(metadata=meta("p", "default"), spec=spec)
    pods = PodIndex()
    pods.add(pod)

    assert [pods.nodes_with(disk) for disk in exclusive_disks(pod)] == [{"n"}] * 3
    pods.remove(pod.key)
    assert pods.nodes_with(("gce", "d")) == set()
