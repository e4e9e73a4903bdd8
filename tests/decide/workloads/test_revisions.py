from typing import Any

from plimsoll.api.meta import ObjectKey
from plimsoll.api.workloads import ControllerRevision
from plimsoll.decide.plan import Create, Patch
from plimsoll.decide.workloads.owned import STATEFUL_SET
from plimsoll.decide.workloads.pod_template import data_hash
from plimsoll.decide.workloads.revisions import (
    Described,
    RevisionHistory,
    decide_history,
    revision_data,
)
from tests.decide.workloads.objects import a_stateful_set, meta, template

SET = a_stateful_set()


def described(image: str = "web:1", collisions: int | None = None) -> Described:
    return Described(
        workload=STATEFUL_SET, owner=SET, template=template(image), collisions=collisions
    )


def stored(image: str, number: int, **metadata: Any) -> ControllerRevision:
    data = revision_data(template(image))
    name = f"web-{data_hash(data, 0)}"
    return ControllerRevision(metadata=meta(name, **metadata), data=data, revision=number)


def history(image: str, *revisions: ControllerRevision) -> RevisionHistory:
    return decide_history(described(image), revisions, {r.key: r for r in revisions})


def test_the_first_template_becomes_the_first_revision() -> None:
    found = history("web:1")
    (write,) = found.writes
    assert isinstance(write, Create)
    assert write.document["revision"] == 1
    assert write.document["metadata"]["name"] == found.update.name
    assert (
        write.document["metadata"]["labels"]["controller.kubernetes.io/hash"] == found.update.hash
    )
    assert found.update.template == template("web:1")


def test_a_template_that_is_stored_already_is_found() -> None:
    revision = stored("web:1", 4)
    found = history("web:1", revision)
    assert found.writes == ()
    assert found.update.name == revision.name
    assert found.update.template == template("web:1")


def test_a_template_that_returns_gets_the_highest_number() -> None:
    old = stored("web:1", 1)
    found = history("web:1", old, stored("web:2", 2))
    (write,) = found.writes
    assert isinstance(write, Patch)
    assert (write.key, write.patch) == (old.key, {"revision": 3})
    assert found.update.name == old.name


def test_nulls_written_by_others_do_not_make_another_revision() -> None:
    revision = stored("web:1", 1)
    data = revision_data(template("web:1"))
    data["spec"]["template"]["metadata"]["creationTimestamp"] = None
    known = ControllerRevision(metadata=revision.metadata, data=data, revision=1)
    assert history("web:1", known).writes == ()


def test_a_name_that_is_taken_is_a_collision() -> None:
    taken = ControllerRevision(
        metadata=stored("web:1", 1).metadata, data=revision_data(template("x"))
    )
    found = decide_history(described(), (), {taken.key: taken})
    assert found.collisions == 1
    assert found.update.name != taken.name
    assert len(found.writes) == 1


def test_a_revision_of_a_namesake_that_is_being_collected_serves_meanwhile() -> None:
    other = stored("web:1", 9)
    found = decide_history(described(), (), {other.key: other})
    assert found.writes == ()
    assert found.update.name == other.name


def test_what_no_pod_needs_is_deleted_beyond_the_limit_oldest_first() -> None:
    revisions = [stored(f"web:{n}", n) for n in range(1, 6)]
    found = history("web:5", *revisions)
    live = [revisions[0].name]
    assert [d.key.name for d in found.surplus(live, 1)] == [r.name for r in revisions[1:3]]
    assert [d.key.name for d in found.surplus(live, 0)] == [r.name for r in revisions[1:4]]
    assert found.surplus(live, None) == ()
    assert found.surplus(live, -1) == ()


def test_long_names_are_cut() -> None:
    long = a_stateful_set("x" * 250)
    of = Described(workload=STATEFUL_SET, owner=long, template=template(), collisions=None)
    name = decide_history(of, (), {}).update.name
    assert len(name) <= 253
    assert ObjectKey("default", name).name.startswith("x" * 223 + "-")
