"""Dynamic provisioning: volumes are created for claims through a CSI driver, and deleted again.
Every decision of `plimsoll provisioner` is a pure function here. The rules are csi-provisioner's;
docs/reference/provisioner-differences.md lists where ours differ, and `ProvisionerMode.COMPATIBLE`
decides as csi-provisioner does there too, so that recorded answers can be compared.

Start reading at `steps`, which draws the life of a claim, then `claims` (is the claim ours, what is
the driver asked) and `outcomes` (what follows from its answer). `preparation` has the order in
which a request is put together from the parts in `request/` and `topology/`. `deletion` is the
other half, for volumes; `node_deployment` the race of provisioners that run on every node;
`protection` the finalizers of clone and snapshot sources. `in_process/` is what the controller
decides about provisioners that run inside it.

How a process uses it. It holds a `ProvisionerSettings` (flags, and what the driver said of itself),
backs a `ProvisionerView` by its caches (both, and the time, make a `ProvisioningContext`), and
keeps one `ClaimMemory` per claim UID. For each claim in its queue, also for one that is gone while
`memory.in_progress` is set (then `claim` is None):

    step = decide_claim(claim, memory, context)
    Ignore      enact the plan; forget the memory if it is NOTHING_KNOWN; done
    Delay       keep the memory; look again at `until`
    Refuse      enact the plan; keep the memory; look again after a backoff
    Reschedule  enact the plan; if a write fails, look again after a backoff
    Compete     wait race_delay(…), then decide_candidacy → OwnershipQuestion, TakeOver or Ignore;
                a question's secret is read, then ask_capacity, then each call's outcome goes into
                after_capacity; if a TakeOver is overtaken, the Compete goes into after_lost_race
    Prepare     enact the plan (after_obstacle if that fails), read attempt.secret
                (after_unread_secret if that fails), then decide_call(step, context)
    Call        make the call, then after_create(step, outcome, claim as it is now, context),
                which may ask for another call
    ProvisioningRecord
                enact the plan, then the creation until it went through (after_unsaved tells of
                each failure), then after_saved
    CleanUp     before_cleanup with all volumes as the server has them now; delete the unwanted
                volume, then after_cleanup
    StartOver   enact the plan, then decide_claim about the claim as the server has it now

For each volume in its queue: `decide_volume` → Keep, Retry or RemoveVolume; its call is made, the
outcome goes into `after_delete` → Removed or Retry, and once the volume is deleted in the API,
`release_volume` says how its finalizer goes.

Every `memory` in a step replaces the one before. Plans hold the writes in order. Secrets are read
for a call and never stored. `decide_cloned_claim` and `decide_sweep` take finalizers off sources
that are not used any more.
"""
