from plimsoll.api.core import ContainerImage
from plimsoll.decide.scheduling.columns.reported.images import ImageIndex, ReportedImage


def an_image(name: str = "web:1", size: int = 10) -> ContainerImage:
    return ContainerImage(names=(name, f"mirror/{name}"), size_bytes=size)


def test_the_first_report_of_a_size_counts_as_long_as_any_node_has_the_image() -> None:
    index = ImageIndex()
    index.change(0, (), (an_image(size=10),))
    index.change(1, (), (an_image(size=20),))
    assert (
        index.by_name.get("web:1") == index.by_name.get("mirror/web:1") == ReportedImage(10, 0b11)
    )

    index.change(0, (an_image(size=10),), ())
    assert index.by_name.get("web:1") == ReportedImage(10, 0b10)
    index.change(1, (an_image(size=20),), (an_image(size=30),))
    assert index.by_name.get("web:1") == ReportedImage(30, 0b10)
    index.change(1, (an_image(size=30),), ())
    assert index.by_name == {}


def test_a_fork_goes_its_own_way() -> None:
    index = ImageIndex()
    index.change(0, (), (an_image(),))
    fork = index.fork()
    index.change(1, (), (an_image(),))

    assert fork.by_name.get("web:1") == ReportedImage(10, 0b1)
