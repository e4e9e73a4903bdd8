"""Who owns which field of an object: `metadata.managedFields` and server-side apply.

Start with `tracking` (what a plain write does to the owners) and `apply` (what an applied document
does to object and owners). Both work on an `endpoint.Endpoint`, which is compiled once for each
resource and subresource.
"""
