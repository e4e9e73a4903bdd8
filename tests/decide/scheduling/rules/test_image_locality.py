import msgspec
import numpy as np
import pytest
from hypothesis import given, settings

from plimsoll.api.core import ContainerImage, Node
from plimsoll.api.pods import Container, ImageVolume, Pod, PodSpec, PodVolume
from plimsoll.decide.scheduling.columns.cluster import Columns
from plimsoll.decide.scheduling.rules.image_locality import (
    MIB,
    ImageLocalityColumns,
    image_names,
    normalized_name,
    read_reports,
    score,
)
from tests.builders import a_node, a_pod, meta
from tests.decide.scheduling.columns import plain
from tests.decide.scheduling.columns.clusters import Chance, a_new_pod, a_random_cluster, seeds


def having(name: str, **sizes: int) -> Node:
    """Sizes in MiB, of images that are all `latest`."""
    images = tuple(
        ContainerImage(names=(f"{image}:latest",), size_bytes=size * MIB)
        for image, size in sizes.items()
    )
    node = a_node(name)
    return msgspec.structs.replace(node, status=msgspec.structs.replace(node.status, images=images))


def a_pod_of(*images: str) -> Pod:
    containers = tuple(Container(name=f"c{n}", image=image) for n, image in enumerate(images))
    return Pod(metadata=meta("web", "default"), spec=PodSpec(containers=containers))


def scores(pod: Pod, *nodes: Node) -> dict[str, int]:
    reports = read_reports(nodes)
    return {node.name: score(pod, node, reports, len(nodes)) for node in nodes}


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("web", "web:latest"),
        ("web:1", "web:1"),
        ("registry:5000/web", "registry:5000/web:latest"),
        ("registry:5000/web:1", "registry:5000/web:1"),
    ],
)
def test_an_image_without_a_tag_is_the_latest(image: str, name: str) -> None:
    assert normalized_name(image) == name


def test_images_of_all_containers_and_volumes_count() -> None:
    spec = PodSpec(
        init_containers=(Container(name="i", image="init:1"),),
        containers=(Container(name="c", image="web:1"),),
        volumes=(PodVolume(name="v", image=ImageVolume(reference="data:1")), PodVolume(name="w")),
    )

    assert [*image_names(Pod(spec=spec))] == ["init:1", "web:1", "data:1"]


def test_large_images_that_many_nodes_have_are_worth_most() -> None:
    nodes = having("a", web=1000), having("b", web=1000), having("c", tiny=1)

    found = scores(a_pod_of("web"), *nodes)

    assert found["a"] == found["b"] == 100 * (2000 // 3 - 23) // (1000 - 23)
    assert found["c"] == 0
    assert scores(a_pod_of("tiny"), *nodes) == {"a": 0, "b": 0, "c": 0}
    assert scores(a_pod_of("web"), *nodes[:2]) == {"a": 100, "b": 100}


def test_the_size_that_was_reported_first_counts() -> None:
    first, second = having("z", web=500), having("a", web=1000)

    found = scores(a_pod_of("web"), first, second)

    assert found["z"] == found["a"] == 100 * (500 - 23) // (1000 - 23)


def test_scores_follow_what_nodes_report() -> None:
    columns = Columns.of([having("a", web=1000), having("b")])
    rule, pod = ImageLocalityColumns(columns), a_pod_of("web")

    def found() -> list[int]:
        fit = rule.judge(pod)
        assert fit is not None
        assert fit.score is not None
        weighted = fit.score.weighted(np.ones(columns.index.size, np.bool_))
        return [int(weighted[0]), int(weighted[1])]

    before = found()
    assert before[0] > before[1] == 0
    columns.put(having("b", web=1000))
    assert found() == [100, 100]
    assert rule.judge(a_pod()) is None


@given(seed=seeds)
@settings(max_examples=200, deadline=None)
def test_every_node_gets_the_score_that_the_plain_rule_gives(seed: int) -> None:
    chance = Chance(seed)
    objects = a_random_cluster(chance)
    pod = a_new_pod(chance, objects)
    view, columns = plain.cluster_of(objects), Columns.of(objects)
    reports = read_reports(view.nodes.values())

    fit = ImageLocalityColumns(columns).judge(pod)

    found = np.zeros(columns.index.size, np.int64)
    if fit is not None and fit.score is not None:
        found = fit.score.weighted(found == 0)
    for node in view.nodes.values():
        slot = columns.index.find(node.name)
        assert found[slot] == score(pod, node, reports, len(view.nodes))
