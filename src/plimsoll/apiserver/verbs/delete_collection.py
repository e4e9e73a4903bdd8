"""DELETE of a collection: object after object, a few at a time.

Others are answered in between, so that an object may vanish or change before its turn comes. A
refusal ends it: what was deleted before stays deleted, as in the real server.
"""

from plimsoll.apiserver.admission import quota_status as quotas
from plimsoll.apiserver.http.answers import Answer
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.heavy_work import HEAVY_RECORDS
from plimsoll.apiserver.verbs import delete as deletes
from plimsoll.apiserver.verbs.options.selection import ObjectSelection
from plimsoll.apiserver.verbs.streaming import ListPage, in_groups, list_answer
from plimsoll.apiserver.verbs.views import ObjectView
from plimsoll.apiserver.verbs.write import Write


async def delete_collection(
    write: Write, options: deletes.DeleteOptions, selection: ObjectSelection, view: ObjectView
) -> Answer:
    """The objects as they were before. Raises ApiError."""
    cluster, deleted = write.cluster, []
    try:
        for group in in_groups(await _chosen(write, selection), lambda record: record):
            deleted += deletes.delete_each(write, options, group)
            quotas.refresh(cluster, write.target.namespace)
            await cluster.revisions.durable()
    finally:
        await cluster.revisions.durable()
    meta = {"resourceVersion": str(cluster.revisions.committed)}
    warnings = tuple(write.options.warnings)
    return list_answer(cluster, view, ListPage(records=deleted, meta=meta), warnings)


async def _chosen(write: Write, selection: ObjectSelection) -> list[StoredRecord]:
    collection = write.cluster.collection(write.kind)
    records = list(collection.newest_records(selection.prefix))

    def choose() -> list[StoredRecord]:
        return [record for record in records if selection.matches(record)]

    is_heavy = len(records) * selection.terms > HEAVY_RECORDS
    return await write.cluster.work.run(choose) if is_heavy else choose()
