"""What the API server knows of documents, without storing or serving any: kinds and their rules,
schemas, patches, field ownership, printing, protobuf, discovery and OpenAPI.

Pure by import contract: it imports `api` and the standard library's data types alone. Start with
`kinds.table`, the one table of rules, or with `schema`, which reads a document as its kind does.
"""
