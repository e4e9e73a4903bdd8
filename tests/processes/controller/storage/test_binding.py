from datetime import timedelta
from typing import ClassVar

from plimsoll.api.meta import ObjectKey
from plimsoll.api.storage import StorageClass
from plimsoll.api.volumes import PersistentVolumeClaim
from plimsoll.processes.controller.storage.binding import RESYNC, Binding
from plimsoll.simulator.stories.objects import claim, volume
from plimsoll.simulator.stories.provisioners import MOODY, Moody, a_class, binding
from plimsoll.wire.transport import Request
from tests.processes.controller.flaky import a_flaky_cluster

CLAIM_PATH = "/api/v1/namespaces/default/persistentvolumeclaims/data"


async def test_a_claim_is_not_taken_for_deleted_without_the_servers_word() -> None:
    def answers_about_claim(request: Request) -> bool:
        return request.method == "GET" and request.path == CLAIM_PATH

    async with a_flaky_cluster({"binding": Binding}) as (cluster, line, _):
        await cluster.create(volume(), claim())
        await cluster.settle()
        line.fails = answers_about_claim
        await cluster.patch("PersistentVolumeClaim", "data", {"metadata": {"finalizers": None}})
        await cluster.delete("PersistentVolumeClaim", "data")
        await cluster.wait(timedelta(seconds=30))
        found = await cluster.get("PersistentVolume", "volume-1")
        assert found["status"]["phase"] == "Bound"

        line.fails = lambda _: False
        await cluster.wait(timedelta(seconds=30))
        found = await cluster.get("PersistentVolume", "volume-1")
        assert found["status"]["phase"] == "Released"


class Watched(Binding):
    """Notes what it looks at."""

    looked_at: ClassVar[list[ObjectKey]] = []

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        self.looked_at.append(key)
        return await super().reconcile(key)


async def test_a_resync_passes_over_pairs_that_are_bound_and_have_not_changed() -> None:
    async with a_flaky_cluster({"binding": Watched}) as (cluster, _, _):
        await cluster.create(volume(), claim())
        await cluster.settle()
        await cluster.create(volume("other"))
        await cluster.wait(2 * RESYNC)
        Watched.looked_at.clear()
        await cluster.wait(RESYNC)
        assert Watched.looked_at == [ObjectKey("", "other")]

        labelled = {"metadata": {"labels": {"colour": "red"}}}
        Watched.looked_at.clear()
        await cluster.patch("PersistentVolume", "volume-1", labelled)
        await cluster.settle()
        assert {ObjectKey("", "volume-1"), ObjectKey("default", "data")} <= set(Watched.looked_at)


async def test_what_could_not_be_written_is_written_when_the_server_takes_it() -> None:
    async with a_flaky_cluster({"binding": Binding}) as (cluster, line, _):
        line.fails = lambda request: not request.is_read
        await cluster.create(volume(), claim())
        await cluster.wait(timedelta(minutes=1))
        line.fails = lambda _: False
        await cluster.wait(timedelta(seconds=16))
        found = await cluster.get("PersistentVolume", "volume-1")
        assert found["status"]["phase"] == "Bound"


async def test_an_unexpected_error_of_a_provisioner_stays_its_own() -> None:
    moody = Moody()
    moody.labels = None  # type: ignore[assignment] # a bug in a user's provisioner
    async with a_flaky_cluster(binding(moody)) as (cluster, _, _):
        kept = {"namespace": "default", "name": "other"}
        await cluster.create(a_class(MOODY), claim(), volume("other", claim_ref=kept))
        await cluster.create(claim("other"))
        await cluster.settle()
        messages = [message for _, message in await cluster.events("data")]
        assert any("unexpected TypeError in provisioner" in message for message in messages)
        found = await cluster.get("PersistentVolume", "other")
        assert found["status"]["phase"] == "Bound"


class Rude(Moody):
    """A bug in a user's provisioner."""

    def objection(self, claim: PersistentVolumeClaim, storage_class: StorageClass) -> str:
        raise ZeroDivisionError(claim.name, storage_class.name)


async def test_an_unexpected_error_while_deciding_is_an_objection() -> None:
    async with a_flaky_cluster(binding(Rude())) as (cluster, _, _):
        await cluster.create(a_class(MOODY), claim())
        await cluster.settle()
        [(_, message)] = await cluster.events("data")
        assert "unexpected ZeroDivisionError in provisioner" in message
