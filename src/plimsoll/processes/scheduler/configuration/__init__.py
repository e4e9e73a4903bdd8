"""Profiles as kube-scheduler writes them down, read into what decisions know.

`form` is what a file may hold, `plugins` which of them are asked and what they weigh, `arguments`
what they are told, `profiles` puts it together. What could change a decision and is not understood
is an error that names it, never silently left out."""
