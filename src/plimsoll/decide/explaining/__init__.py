"""Why a pod has no node, or a claim no volume: everything that the rules find, for people.

Start with `pod`. `groups` puts nodes together that the same things speak against, so that thousands
of nodes stay readable; `claim` tells what a claim is waiting for."""
