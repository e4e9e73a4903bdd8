"""Why a pod has no node or no volumes, or a claim no volume: all that rules and objects tell.

Start with `pod`. `groups` puts nodes together that the same things speak against, so that thousands
of nodes stay readable; `claim` tells what a claim is waiting for, `workload` folds the pods of one
owner. `held_back` tells how the volumes of a pod are made together, or given back. `evidence` is
what was read beside the objects that decisions look at; `provisioning`, `mounting`, `attempts` and
`presence` find in it what goes wrong, `causes` says what to mend first.
"""
