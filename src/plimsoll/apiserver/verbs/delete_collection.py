"""DELETE of a collection: object after object, a few at a time.

Others are answered in between, so that an object may vanish or change before its turn comes. A
refusal ends it: what was deleted before stays deleted, as in the real server.
"""

from dataclasses import replace

from msgspec import structs

from plimsoll.apiserver.http.answers import Answer
from plimsoll.apiserver.http.negotiation import wanted_of
from plimsoll.apiserver.storage.cluster import StoredCluster
from plimsoll.apiserver.storage.collection import StoredRecord
from plimsoll.apiserver.storage.heavy_work import HEAVY_RECORDS
from plimsoll.apiserver.storage.quotas import quota_status
from plimsoll.apiserver.verbs.delete import delete, deletion, requested_options
from plimsoll.apiserver.verbs.options.delete_options import DeleteOptions
from plimsoll.apiserver.verbs.options.list_options import check_list_options, check_numbers
from plimsoll.apiserver.verbs.options.selection import ObjectSelection
from plimsoll.apiserver.verbs.policies import are_bound
from plimsoll.apiserver.verbs.read import ReadRequest, list_request
from plimsoll.apiserver.verbs.views.streaming import ListPage, in_groups, list_answer
from plimsoll.apiserver.verbs.views.text_view import ObjectView
from plimsoll.apiserver.verbs.webhooks import are_configured, decide_with_webhooks
from plimsoll.apiserver.verbs.write import Write
from plimsoll.apiserver.verbs.write_request import WriteRequest


async def answer_delete_collection(request: WriteRequest) -> Answer:
    """Answers with the list of the objects as they were before. Raises ApiError."""
    check_numbers(request.query)
    selection = ObjectSelection(request.kind, request.target, request.query)
    check_list_options(request.query, watch=False)
    options = requested_options(request)
    write, view = deletion(request, options), request.view()
    if request.query.integer("limit") or request.query.text("continue"):
        page = await _page(request)
    else:
        page = ListPage(records=await _chosen(write, selection), meta={})
    return await _delete_collection(write, options, page, view)


async def _delete_collection(
    write: Write, options: DeleteOptions, page: ListPage, view: ObjectView
) -> Answer:
    cluster, deleted = write.cluster, []
    try:
        for group in in_groups(page.records, lambda record: record):
            if are_configured(cluster) or are_bound(cluster):
                deleted += await _delete_each_aside(write, options, group)
            else:
                deleted += _delete_each(write, options, group)
            quota_status.refresh(cluster, write.target.namespace)
            await cluster.revisions.durable()
    finally:
        await cluster.revisions.durable()
    meta = page.meta | {"resourceVersion": str(cluster.revisions.committed)}
    warnings = tuple(write.options.warnings)
    return list_answer(cluster, view, ListPage(records=deleted, meta=meta), warnings)


async def _page(request: WriteRequest) -> ListPage:
    """The page of a list that the client asks for: no object beyond it is deleted."""
    form = wanted_of(request.request, request.target.resource)
    listed = list_request(ReadRequest(request.cluster, request.target, request.query, form))
    return await request.cluster.work.run(listed.page) if listed.is_heavy else listed.page()


async def _chosen(write: Write, selection: ObjectSelection) -> list[StoredRecord]:
    collection = write.cluster.collection(write.kind)
    records = list(collection.newest_records(selection.prefix))

    def choose() -> list[StoredRecord]:
        return [record for record in records if selection.matches(record)]

    is_heavy = len(records) * selection.terms > HEAVY_RECORDS
    return await write.cluster.work.run(choose) if is_heavy else choose()


async def _delete_each_aside(
    write: Write, options: DeleteOptions, records: list[StoredRecord]
) -> list[StoredRecord]:
    """The same where webhooks or policies are asked about each object."""
    deleted: list[StoredRecord] = []
    for record in records:

        def delete_one(cluster: StoredCluster, record: StoredRecord = record) -> list[StoredRecord]:
            return _delete_each(structs.replace(write, cluster=cluster), options, [record])

        deleted += await decide_with_webhooks(write.cluster, delete_one)
    return deleted


def _delete_each(
    write: Write, options: DeleteOptions, records: list[StoredRecord]
) -> list[StoredRecord]:
    """The objects as they were; those that vanish meanwhile do not count."""
    deleted = []
    for record in records:
        namespace, slash, name = record.key.partition("/")
        target = replace(
            write.target,
            namespace=namespace if slash else "",
            name=name if slash else record.key,
        )
        one = structs.replace(write, target=target)
        if write.cluster.collection(write.kind).newest(record.key) is None:
            continue
        delete(one, options)
        deleted.append(record)
    return deleted
